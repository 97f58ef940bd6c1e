#pragma once
// One rank's side of a send or a receive, or of both where a rank sends to itself.
//
//   Transfer transfer;
//   transfer.start({.to = &end, .input = data, .bytes = bytes, .protocol = protocol});
//   while (transfer.step() != Progress::kDone) ...
//
// Both sides must be given the same bytes and protocol.

#include "core/kinds.h"
#include "runtime/device/task.h"
#include "runtime/transport/queue/recv_end.h"
#include "runtime/transport/queue/send_end.h"

namespace xylem {

struct TransferWork {
  SendEnd* to = nullptr;             // with an input
  RecvEnd* from = nullptr;           // with an output
  const std::byte* input = nullptr;  // an input and an output: copied, by way of no queue
  std::byte* output = nullptr;
  std::size_t bytes = 0;
  Protocol protocol = Protocol::kSimple;
};

class Transfer {
 public:
  void start(const TransferWork& work) {
    work_ = work;
    done_ = 0;
  }
  // kDone: what was received is there, and nobody reads from the input any more.
  Progress step();
  // After kWouldBlock: the rank that has to act first.
  int waitsFor() const;

 private:
  std::size_t move();

  TransferWork work_;
  std::size_t done_ = 0;  // bytes
};

}  // namespace xylem
