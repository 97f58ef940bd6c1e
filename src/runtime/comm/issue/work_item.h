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
#include <vector>

#include "core/kinds.h"
#include "runtime/collectives/direct_share.h"
#include "runtime/collectives/program_executor.h"
#include "runtime/collectives/transfer.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/gpu/kernel_launch.h"
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

// A profiler's events of a call: of itself, and of its work on a channel while that goes on. Null: none.
struct CallEvent {
  void* call = nullptr;
  void* work = nullptr;
};

// Collectives that may be one exchange: what they are, their operations' indices in the group, and their events.
struct ExchangeBatch {
  std::vector<collectives::DirectWork> works;
  std::vector<std::size_t> places;
  std::vector<CallEvent> events;
};

// An exchange among the ranks of a host, of one collective or of many.
struct ExchangePath {
  Mailboxes* mailboxes = nullptr;
  collectives::DirectWork work;
  ExchangeBatch* batch = nullptr;  // null: `work` is all; otherwise these instead
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
  std::size_t place = 0;  // the index of its operation in the group, or of the first of its batch
  std::variant<TransferPath, ExchangePath, ProgramPath> path;
  // Where the scalar of a scaled sum is read when the item starts; null: it is in the reduction already.
  const std::byte* scalarAddress = nullptr;
  std::size_t scalarBytes = 0;
  std::optional<CheckedCall> checked;  // transfers only
  bool observed = false;               // a profiler follows the item; on GPUs, until it is done
  CallEvent event;                     // of an item without a batch
  gpu::WorkRange works;                // on GPUs: of the kernel's launch
  int channel = 0;

  ExchangeBatch* batch() {
    auto* const exchange = std::get_if<ExchangePath>(&path);
    return exchange == nullptr ? nullptr : exchange->batch;
  }
  // The events of its operations, one of each.
  std::span<CallEvent> events() { return batch() == nullptr ? std::span(&event, 1) : batch()->events; }

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

// Hears when observed items are at work.
class ItemObserver {
 public:
  // On host devices: before the first step. The item's queues are known.
  virtual void started(WorkItem& item) = 0;
  // Everything that the item receives has been read. On GPUs: the kernel is over; all items.
  virtual void ended(WorkItem& item) = 0;
  // On GPUs, now and then while the kernel runs, and once afterwards.
  virtual void timed(WorkItem& item, const gpu::WorkTimes& times) = 0;

 protected:
  ~ItemObserver() = default;
};

}  // namespace xylem::comm
