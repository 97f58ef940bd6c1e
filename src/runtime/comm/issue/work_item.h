#pragma once
// One part of an operation that a rank executes by itself, as a value: its function, its buffers, and the path
// that its data takes. There are three paths: programs over the queues of a channel, an exchange among the
// ranks of a host, and a transfer between two ranks.
//
//   const WorkItem item{.function = operation.function, .path = ExchangePath{mailboxes, work, {}}};
//   while (executor.step(item, nullptr) != device::Progress::kDone) backoff.pause();

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "core/kinds.h"
#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/program_executor.h"
#include "runtime/collectives/transfer.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/transport/transport.h"

namespace xylem::comm {

class Mailboxes;

// The programs of a collective, side by side on the queues of one channel.
struct ProgramPath {
  int programs = 1;
  std::array<collectives::ProgramWork, collectives::kMostPrograms> program;
  std::size_t scratchBytes = 0;

  std::span<collectives::ProgramWork> all() { return {program.data(), static_cast<std::size_t>(programs)}; }
  std::span<const collectives::ProgramWork> all() const {
    return {program.data(), static_cast<std::size_t>(programs)};
  }
};

// An exchange among the ranks of a host, of one collective or of many.
struct ExchangePath {
  Mailboxes* mailboxes = nullptr;
  collectives::DirectWork work;
  std::span<const collectives::DirectWork> batch;  // empty: `work` is all; otherwise these instead
  // DirectExchange::starts() once this item has started. If that has not changed when the item runs again,
  // only the buffers are new to the exchange.
  std::uint64_t starts = ~std::uint64_t{0};
};

// A send or receive over one queue, or a copy from this rank to itself.
struct TransferPath {
  transport::Connection* connection = nullptr;  // null: from this rank to itself
  int queue = 0;                                // of the connection
  bool sends = false;
  std::size_t begin = 0;           // in the buffer of the operation, in bytes
  collectives::TransferWork work;  // without the end of its queue until connect() returns true

  // Goes on with making the connection. Once it is made, puts the end of the queue into `work`.
  bool connect() {
    return connection == nullptr || work.to != nullptr || work.from != nullptr || goOnConnecting();
  }

 private:
  bool goOnConnecting();
};

// Checked mode: the call whose first part this is, which its sender tells the receiver ahead of the data.
struct CheckedCall {
  int rank = 0;  // that makes the call
  CallSignature call;
};

struct WorkItem {
  Function function = Function::kAllReduce;
  std::size_t place = 0;  // the index of its operation in the group
  std::variant<TransferPath, ExchangePath, ProgramPath> path;
  // Where the scalar of a scaled sum is read when the item starts; null: it is in the reduction already.
  const std::byte* scalarAddress = nullptr;
  std::size_t scalarBytes = 0;
  std::optional<CheckedCall> checked;  // transfers only
  void* event = nullptr;               // a profiler's event of the call; null: the item has no observer
  int channel = 0;

  // Makes it the item of an operation that differs from its own by the buffers only. Not for programs.
  void rebind(const CommOperation& operation) {
    if (auto* const exchange = std::get_if<ExchangePath>(&path)) {
      exchange->work.input = operation.send;
      exchange->work.output = operation.receive;
    } else if (auto* const transfer = std::get_if<TransferPath>(&path)) {
      if (transfer->sends)
        transfer->work.input = operation.send + transfer->begin;
      else
        transfer->work.output = operation.receive + transfer->begin;
    }
  }
};

// Called when an item over queues that has an event starts, and when it is done.
class ItemObserver {
 public:
  // Before the first step. The item's queues are known.
  virtual void started(const WorkItem& item) = 0;
  // Everything that the item receives has been read.
  virtual void ended(const WorkItem& item) = 0;

 protected:
  ~ItemObserver() = default;
};

}  // namespace xylem::comm
