#pragma once
// The reduction operations that a program makes for one communicator (ncclRedOpCreatePreMulSum), and the
// meaning of any ncclRedOp_t for it.
//
//   UserOps ops;
//   const int op = ops.create(DataType::kFloat32, &half, false);
//   ops.resolve(op, DataType::kFloat32).scaled   ->   true
//   ops.destroy(op);
//
// The number of an operation contains a tag of its communicator, so that an operation of another
// communicator is not taken for a destroyed one.

#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/comm/issue/operation.h"

namespace xylem::comm {

class UserOps {
 public:
  UserOps();
  UserOps(const UserOps&) = delete;
  UserOps& operator=(const UserOps&) = delete;

  // Makes a sum of elements that are multiplied by a scalar of `type` first: by the one at `scalar` now, or,
  // if `readLater`, by the one that is there when an operation starts. Returns an ncclRedOp_t, at least
  // kFirst.
  int create(DataType type, const void* scalar, bool readLater);
  // Frees a number. It is given out again, but as late as possible.
  void destroy(int op);
  // The meaning of `op`, built in or of this communicator, for elements of `type`.
  UserReduction resolve(int op, DataType type) const;

  // Smaller numbers are built in (ncclNumOps).
  static constexpr int kFirst = kReduceOps;

 private:
  struct Slot {
    bool live = false;
    DataType type = DataType::kInt8;
    UserReduction reduction;
  };
  // The slot of a number; throws if it has no live one.
  std::size_t slotOf(int op) const;

  const std::uint32_t tag_;  // of this communicator, in the upper bits of its numbers
  std::vector<Slot> slots_;
  std::deque<std::size_t> free_;  // in the order in which they were freed
};

}  // namespace xylem::comm
