#pragma once
// One rank's side of a send or a receive, or both sides if a rank sends to itself.
//
//   Transfer transfer;
//   transfer.start({.to = &end, .input = data, .bytes = bytes, .protocol = protocol});
//   while (transfer.step() != Progress::kDone) backoff.pause();
//
// Both sides must be given the same number of bytes and the same protocol.

#include <chrono>

#include "core/kinds.h"
#include "runtime/collectives/shared_work.h"
#include "runtime/device/task.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem::collectives {

struct TransferWork {
  // A send has `to` and `input`, a receive has `from` and `output`. A rank that sends to itself has `input`
  // and `output` and no queue.
  transport::SendEnd* to = nullptr;
  transport::RecvEnd* from = nullptr;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::size_t bytes = 0;
  Protocol protocol = Protocol::kSimple;
  const SharedWork* shared = nullptr;  // its threads copy; null: the calling one does
  // While the receiver copies, this rank would only wait. So it copies a part.
  bool helps = false;
};

class Transfer {
 public:
  void start(const TransferWork& work) {
    work_ = work;
    done_ = 0;
    hears_ = work.from == nullptr ? Hears::kNothing : work.from->hearsOf(work.protocol, work.bytes);
    if (hears_ == Hears::kTime) begun_ = std::chrono::steady_clock::now();
  }
  // kDone: the output is complete, and the receiver does not read from the input any more.
  device::Progress step() {
    if (work_.to != nullptr) return send(*work_.to);
    return work_.from != nullptr ? receive(*work_.from) : copy();
  }
  // After kWouldBlock: the rank that has to act first.
  int waitsFor() const;

 private:
  using Hears = transport::PeerMemory::Hears;
  template <typename Move>
  std::size_t moveAll(Move&& move);
  device::Progress send(transport::SendEnd& to);
  device::Progress receive(transport::RecvEnd& from);
  device::Progress copy();
  void tellReceived();

  TransferWork work_;
  std::size_t done_ = 0;                           // bytes
  Hears hears_ = Hears::kNothing;                  // the wish of the receiving end
  std::chrono::steady_clock::time_point begun_{};  // if it wishes to hear the time
};

}  // namespace xylem::collectives
