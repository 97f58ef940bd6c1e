#pragma once
// How many blocks of a communicator's launches have ended, as the GPU counts them. A stream can wait for launches in other streams, which need
// not exist any more, and no launch needs an event of its own, which takes as long as a fourth of a launch.
//
//   EndedBlocks ended(gpu);
//   ended.hold(stream);            // waits for the launches until now
//   ... a launch whose blocks count in ended.counter() ...
//   ended.launched(blocks);

#include <cstdint>

#include "runtime/gpu/gpu_context.h"

namespace xylem::gpu {

class EndedBlocks {
 public:
  explicit EndedBlocks(const GpuContext& gpu);
  ~EndedBlocks() { await(); }
  EndedBlocks(const EndedBlocks&) = delete;
  EndedBlocks& operator=(const EndedBlocks&) = delete;

  std::uint32_t* counter() const { return reinterpret_cast<std::uint32_t*>(counter_.data()); }
  // The device is entered.
  void hold(void* stream) const;
  void launched(int blocks);
  // Until no block of a launch runs any more: then its memory can be given back.
  void await() noexcept;

 private:
  const GpuContext& gpu_;
  GpuMemory counter_;
  std::uint32_t launched_ = 0;  // it begins anew after 2^32, as the counter does
  bool mayRun_ = false;
};

}  // namespace xylem::gpu
