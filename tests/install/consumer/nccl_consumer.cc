// An NCCL program against an installed Xylem: two ranks as threads add up two arrays.

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kCount = 1000;

bool allReduce(ncclUniqueId id, int rank) {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float* data = nullptr;
  if (cudaSetDevice(rank) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess) return false;
  if (cudaMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(float)) != cudaSuccess) return false;
  for (std::size_t i = 0; i < kCount; ++i)
    data[i] = static_cast<float>(rank + 1);  // device memory is host memory
  if (ncclCommInitRank(&comm, kRanks, id, rank) != ncclSuccess) {
    std::fprintf(stderr, "rank %d: %s\n", rank, ncclGetLastError(nullptr));
    return false;
  }
  bool right = ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, comm, stream) == ncclSuccess &&
               cudaStreamSynchronize(stream) == cudaSuccess;
  for (std::size_t i = 0; i < kCount; ++i) right = right && data[i] == 3.0f;
  ncclCommDestroy(comm);
  cudaStreamDestroy(stream);
  cudaFree(data);
  return right;
}

}  // namespace

int main() {
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return 1;
  bool right[kRanks] = {};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] { right[rank] = allReduce(id, rank); });
  for (std::thread& rank : ranks) rank.join();
  std::printf("all_reduce over %d ranks: %s\n", kRanks, right[0] && right[1] ? "ok" : "wrong");
  return right[0] && right[1] ? 0 : 1;
}
