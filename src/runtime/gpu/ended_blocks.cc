#include "runtime/gpu/ended_blocks.h"

namespace xylem::gpu {

EndedBlocks::EndedBlocks(const GpuContext& gpu)
    : gpu_(gpu), counter_(gpu, GpuMemory::Where::kDevice, 16, "the count of ended blocks") {
  const EnteredDevice entered(gpu);
  gpu.require(gpu.driver().clear(counter_.data(), counter_.size()), "clearing memory");
}

void EndedBlocks::launched(int blocks) {
  launched_ += static_cast<std::uint32_t>(blocks);
  mayRun_ = true;
}

void EndedBlocks::await() noexcept {
  if (!mayRun_ || gpu_.driver().enter(gpu_.device()) != kDone) return;
  // Both fail if the GPU has failed: nothing runs on it then.
  if (gpu_.driver().awaitCountHere(counter(), launched_) != kDone) gpu_.driver().synchronize();
  gpu_.driver().leave();
  mayRun_ = false;
}

void EndedBlocks::hold(void* stream) const {
  if (mayRun_) gpu_.require(gpu_.driver().awaitCount(stream, counter(), launched_), "ordering two streams");
}

}  // namespace xylem::gpu
