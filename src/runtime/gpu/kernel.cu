// The kernel for NVIDIA's GPUs: one block for each work, which is a program on a channel.
//
//   xylemRunWorks<<<works, 512>>>(work);     // at least kMinThreads, a multiple of 32
//
// nvcc compiles it without contraction (--fmad=false) and with subnormal numbers (no -ftz), as the host computes.

#include "runtime/gpu/cuda_machine.h"
#include "runtime/gpu/kernel.h"

extern "C" __global__ void __launch_bounds__(512, 1) xylemRunWorks(const xylem::gpu::Work* works) {
  __shared__ __align__(16) unsigned char memory[sizeof(xylem::gpu::Block)];
  auto& block = *reinterpret_cast<xylem::gpu::Block*>(memory);
  xylem::gpu::CudaMachine machine;
  xylem::gpu::runBlock(machine, block, works[blockIdx.x]);
}
