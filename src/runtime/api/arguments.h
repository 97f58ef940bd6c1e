#pragma once
// Checks of arguments that the calls of nccl.h share. Functions that throw are out of line, so that the
// checks stay short.
//
//   const DataType type = readType(datatype, "ncclReduce");
//   checkRank(root, ranks, "ncclReduce", "root");
//   const std::size_t bytes = bytesOf(count, type, 1, "ncclReduce");
//   checkApart({sendbuff, bytes}, {recvbuff, bytes}, 0, "ncclReduce");

#include <cstddef>
#include <cstdint>

#include "core/data_type.h"
#include "nccl.h"
#include "runtime/api/cuda_handles.h"
#include "runtime/api/raw_value.h"
#include "runtime/cuda_api/cuda_stream.h"

namespace xylem::api {

[[noreturn]] void throwBadType(int type, const char* function);
inline DataType readType(const ncclDataType_t& datatype, const char* function) {
  const int type = rawValue(datatype);
  if (type < 0 || type >= kDataTypes) throwBadType(type, function);
  return static_cast<DataType>(type);
}

[[noreturn]] void throwBadRank(int rank, int ranks, const char* function, const char* parameter);
inline void checkRank(int rank, int ranks, const char* function, const char* parameter) {
  if (rank < 0 || rank >= ranks) throwBadRank(rank, ranks, function, parameter);
}

[[noreturn]] void throwBadStream(const char* function);
// A default stream is that of the communicator's device.
inline cuda_api::CudaStream& readStream(cudaStream_t stream, int device, const char* function) {
  cuda_api::CudaStream* found = streamOf(stream, device);
  if (found == nullptr) throwBadStream(function);
  return *found;
}

// The bytes of `blocks` times `count` elements. Throws if no buffer can be that large.
[[noreturn]] void throwBadCount(std::size_t count, DataType type, int blocks, const char* function);
inline std::size_t bytesOf(std::size_t count, DataType type, int blocks, const char* function) {
  std::size_t all = 0;  // without a division, which takes longer than all other checks
  if (__builtin_mul_overflow(count, elementBytes(type) * static_cast<std::size_t>(blocks), &all) ||
      all > PTRDIFF_MAX)
    throwBadCount(count, type, blocks, function);
  return all;
}

struct Region {
  const void* start = nullptr;
  std::size_t bytes = 0;
};
// Throws if the two overlap, unless the smaller one is in place, `offset` bytes behind the start of the
// larger one (0 if they are equally large).
[[noreturn]] void throwOverlap(bool sendIsLarger, std::size_t offset, const char* function);
inline void checkApart(Region send, Region receive, std::size_t offset, const char* function) {
  const auto s = reinterpret_cast<std::uintptr_t>(send.start);
  const auto r = reinterpret_cast<std::uintptr_t>(receive.start);
  if (s < r ? r - s >= send.bytes : s - r >= receive.bytes) return;
  const bool sendIsLarger = send.bytes >= receive.bytes;
  if (sendIsLarger ? r != s + offset : s != r + offset) throwOverlap(sendIsLarger, offset, function);
}

}  // namespace xylem::api
