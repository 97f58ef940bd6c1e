// An NCCL program, one rank per process, that starts under any launcher: xylem run, mpirun, mpiexec, srun or
// torchrun. Every rank brings its number; all get their sum.
//
//   g++ -std=c++17 launched_all_reduce.cc -o all_reduce $(pkg-config --cflags --libs xylem)
//   xylem run -n 4 -- ./all_reduce
//   mpirun -n 4 ./all_reduce

#include <cuda_runtime.h>
#include <nccl.h>
#include <xylem/launch.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kCount = 1000;

void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetLastError(nullptr));
  std::exit(1);
}

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n%s\n", what, cudaGetErrorString(result), ncclGetLastError(nullptr));
  std::exit(1);
}

int run(const xylem::Launch& launch) {
  check(cudaSetDevice(launch.localRank()), "cudaSetDevice");
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, launch.size(), launch.uniqueId(), launch.rank()), "ncclCommInitRank");

  cudaStream_t stream = nullptr;
  float* data = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  check(cudaMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(float)), "cudaMalloc");
  const std::vector<float> mine(kCount, static_cast<float>(launch.rank()));
  check(cudaMemcpy(data, mine.data(), kCount * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");

  check(ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, comm, stream), "ncclAllReduce");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

  std::vector<float> sums(kCount);
  check(cudaMemcpy(sums.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
  const int expected = launch.size() * (launch.size() - 1) / 2;
  bool right = true;
  for (const float sum : sums) right = right && sum == static_cast<float>(expected);
  if (launch.rank() == 0)
    std::printf("all_reduce over %d ranks: %g, %s\n", launch.size(), static_cast<double>(sums[0]),
                right ? "right" : "wrong");

  check(cudaFree(data), "cudaFree");
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  check(ncclCommDestroy(comm), "ncclCommDestroy");
  return right ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run(xylem::Launch::find());
  } catch (const xylem::LaunchError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
