#pragma once
// What every call that moves data has to check of its arguments.
//
//   const DataType type = readType(datatype, "ncclReduce");
//   checkRank(root, ranks, "ncclReduce", "root");
//   const std::size_t bytes = bytesOf(count, type, 1, "ncclReduce");
//   checkApart({sendbuff, bytes}, {recvbuff, bytes}, 0, "ncclReduce");

#include <cstddef>

#include "core/data_type.h"
#include "cuda/cuda_stream.h"
#include "nccl.h"

namespace xylem {

DataType readType(const ncclDataType_t& datatype, const char* function);
void checkRank(int rank, int ranks, const char* function, const char* parameter);
CudaStream& readStream(cudaStream_t stream, const char* function);

// The bytes of `blocks` times `count` elements; throws if no buffer can have so many.
std::size_t bytesOf(std::size_t count, DataType type, int blocks, const char* function);

struct Region {
  const void* start = nullptr;
  std::size_t bytes = 0;
};
// Throws if the two have bytes in common, unless the smaller one is in place: at `offset` bytes in the larger
// one (0 where they are equally large).
void checkApart(Region send, Region receive, std::size_t offset, const char* function);

}  // namespace xylem
