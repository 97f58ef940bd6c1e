// The kernel for NVIDIA's GPUs: one block for each lane of a table, which is in memory, or, if `table` is null, comes with the launch.
//
//   xylemRunLanes<<<lanes, gpu::kBlockThreads>>>(table, recordBytes, {});
//
// nvcc compiles it without contraction (--fmad=false) and with subnormal numbers (no -ftz), as the host computes.

#include "runtime/gpu/cuda_machine.h"
#include "runtime/gpu/kernel.h"

extern "C" __global__ void __launch_bounds__(xylem::gpu::kBlockThreads, 1)
    xylemRunLanes(const std::byte* table, unsigned recordBytes,
                  const __grid_constant__ xylem::gpu::InlineTable inlined) {
  __shared__ __align__(16) unsigned char memory[sizeof(xylem::gpu::Block)];
  xylem::gpu::CudaMachine machine;
  xylem::gpu::runLane(machine, *reinterpret_cast<xylem::gpu::Block*>(memory),
                      table != nullptr ? table : inlined.bytes, recordBytes, static_cast<int>(blockIdx.x));
}
