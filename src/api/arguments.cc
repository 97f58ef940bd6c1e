#include "api/arguments.h"

#include <cstdint>

#include "api/raw_value.h"
#include "api/stream_handle.h"
#include "core/error.h"

namespace xylem {

DataType readType(const ncclDataType_t& datatype, const char* function) {
  const int type = rawValue(datatype);
  if (type < 0 || type >= kDataTypes)
    throw Error(ResultCode::kInvalidArgument, "{}: datatype is {}; expected 0 to {}", function, type,
                kDataTypes - 1);
  return static_cast<DataType>(type);
}

void checkRank(int rank, int ranks, const char* function, const char* parameter) {
  if (rank < 0 || rank >= ranks)
    throw Error(ResultCode::kInvalidArgument, "{}: {} is {}; expected 0 to {}", function, parameter, rank,
                ranks - 1);
}

CudaStream& readStream(cudaStream_t stream, const char* function) {
  CudaStream* found = streamOf(stream);
  if (found == nullptr)
    throw Error(ResultCode::kInvalidArgument, "{}: stream is not a stream, or was destroyed", function);
  return *found;
}

std::size_t bytesOf(std::size_t count, DataType type, int blocks, const char* function) {
  const std::size_t bytes = elementBytes(type);
  std::size_t all = 0;  // without a division, which takes longer than all other checks
  if (__builtin_mul_overflow(count, bytes * static_cast<std::size_t>(blocks), &all) || all > PTRDIFF_MAX)
    throw Error(ResultCode::kInvalidArgument,
                "{}: count is {}; no buffer holds that many elements of {} bytes{}", function, count, bytes,
                blocks > 1 ? " of every rank" : "");
  return all;
}

void checkApart(Region send, Region receive, std::size_t offset, const char* function) {
  const auto s = reinterpret_cast<std::uintptr_t>(send.start);
  const auto r = reinterpret_cast<std::uintptr_t>(receive.start);
  const bool apart = s < r ? r - s >= send.bytes : s - r >= receive.bytes;
  const bool sendIsLarger = send.bytes >= receive.bytes;
  if (apart || (sendIsLarger ? r == s + offset : s == r + offset)) return;
  throw Error(
      ResultCode::kInvalidArgument,
      "{}: sendbuff and recvbuff overlap; they must be apart, or in place: {}buff {} bytes behind the "
      "start of {}buff",
      function, sendIsLarger ? "recv" : "send", offset, sendIsLarger ? "send" : "recv");
}

}  // namespace xylem
