// The kernel for NVIDIA's GPUs: one block for each lane.
//
//   xylemRunLanes<<<count, 512>>>(lanes);     // at least kMinThreads, a multiple of 32
//
// nvcc compiles it without contraction (--fmad=false) and with subnormal numbers (no -ftz), as the host computes.

#include "runtime/gpu/cuda_machine.h"
#include "runtime/gpu/kernel.h"

extern "C" __global__ void __launch_bounds__(512, 1) xylemRunLanes(const xylem::gpu::Lane* lanes) {
  __shared__ __align__(16) unsigned char memory[sizeof(xylem::gpu::Block)];
  auto& block = *reinterpret_cast<xylem::gpu::Block*>(memory);
  xylem::gpu::CudaMachine machine;
  xylem::gpu::runLane(machine, block, lanes[blockIdx.x]);
}
