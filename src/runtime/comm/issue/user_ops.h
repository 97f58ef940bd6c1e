#pragma once
// The reduction operations that a program made for one communicator (ncclRedOpCreatePreMulSum), and what any
// ncclRedOp_t means for it.
//
//   UserOps ops;
//   const int op = ops.create(DataType::kFloat32, &half, false);
//   ops.resolve(op, DataType::kFloat32).scaled   ->   true
//   ops.destroy(op);
//
// The number of an operation carries the number of its communicator, so that one of another communicator is
// told from one that was destroyed.

#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/comm/issue/operation.h"

namespace xylem {

class UserOps {
 public:
  UserOps();
  UserOps(const UserOps&) = delete;
  UserOps& operator=(const UserOps&) = delete;

  // A sum of elements multiplied by a scalar of `type`: the one at `scalar` now, or, if `readLater`, the one
  // that will be there whenever an operation starts. The number is that of an ncclRedOp_t, at least kFirst.
  int create(DataType type, const void* scalar, bool readLater);
  // Frees a number; it is given out again, but as late as possible.
  void destroy(int op);
  // What `op`, built in or of this communicator, does with elements of `type`.
  UserReduction resolve(int op, DataType type) const;

  // Numbers below are built in (ncclNumOps).
  static constexpr int kFirst = kReduceOps;

 private:
  struct Slot {
    bool live = false;
    DataType type = DataType::kInt8;
    UserReduction reduction;
  };
  // The slot behind a number; throws if there is no live one.
  std::size_t slotOf(int op) const;

  const std::uint32_t tag_;  // of this communicator, in the upper bits of every number
  std::vector<Slot> slots_;
  std::deque<std::size_t> free_;  // the one that was freed first comes first
};

}  // namespace xylem
