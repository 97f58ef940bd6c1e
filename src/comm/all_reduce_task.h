#pragma once
// An AllReduce on all channels of a communicator, as a task. See comm/operations.h.

#include <chrono>
#include <vector>

#include "comm/operations.h"

namespace xylem {

class AllReduceTask final : public Task {
 public:
  explicit AllReduceTask(Operations& operations);

  void prepare(const RingBuffers& buffers, const Reduction& reduction, std::uint64_t number);
  Progress step() override;
  void checkStall() override;
  void finish(const Error* error) noexcept override;

  AllReduceTask* link = nullptr;  // in the lists of Operations

 private:
  using Clock = std::chrono::steady_clock;
  // The peer that channel `c` waits for.
  Connection* awaited(std::size_t c) const;
  void checkPeer(Connection& peer, bool awaited);
  void checkPatience(const Connection& peer);

  Operations& operations_;
  std::uint64_t number_ = 0;
  std::vector<RingAllReduce> channels_;
  std::size_t used_ = 0;  // of channels_, for this operation
  std::size_t open_ = 0;  // those that are not done
  std::vector<char> done_;
  // While nothing goes on:
  bool stalled_ = false;
  bool sawPeerEnd_ = false;  // the awaited peer is gone; what it left behind was looked at since
  bool warned_ = false;
  Clock::time_point stallStart_{};
};

}  // namespace xylem
