#include "runtime/api/arguments.h"

#include "core/error.h"

namespace xylem::api {

void throwBadType(int type, const char* function) {
  throw Error(ResultCode::kInvalidArgument, "{}: datatype is {}; expected 0 to {}", function, type,
              kDataTypes - 1);
}

void throwBadRank(int rank, int ranks, const char* function, const char* parameter) {
  throw Error(ResultCode::kInvalidArgument, "{}: {} is {}; expected 0 to {}", function, parameter, rank,
              ranks - 1);
}

void throwBadStream(const char* function) {
  throw Error(ResultCode::kInvalidArgument, "{}: stream is not a stream, or was destroyed", function);
}

void throwBadCount(std::size_t count, DataType type, int blocks, const char* function) {
  throw Error(ResultCode::kInvalidArgument,
              "{}: count is {}; no buffer holds that many elements of {} bytes{}", function, count,
              elementBytes(type), blocks > 1 ? " of every rank" : "");
}

void throwOverlap(bool sendIsLarger, std::size_t offset, const char* function) {
  throw Error(
      ResultCode::kInvalidArgument,
      "{}: sendbuff and recvbuff overlap; they must be apart, or in place: {}buff {} bytes behind the "
      "start of {}buff",
      function, sendIsLarger ? "recv" : "send", offset, sendIsLarger ? "send" : "recv");
}

}  // namespace xylem::api
