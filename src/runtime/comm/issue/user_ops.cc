#include "runtime/comm/issue/user_ops.h"

#include <atomic>
#include <cstring>

#include "core/error.h"

namespace xylem::comm {
namespace {

// A number is kFirst + (tag << kSlotBits) + slot and must fit into 31 bits.
constexpr int kSlotBits = 16;
constexpr std::size_t kMaxSlots = std::size_t{1} << kSlotBits;
constexpr std::uint32_t kTags = (1u << (31 - kSlotBits)) - 2;

// Tags start at 1, so that ncclNumOps is no operation. After 32766 communicators they repeat; only a number
// of a communicator that old could then be taken for one of this one.
std::uint32_t nextTag() {
  static std::atomic<std::uint32_t> made{0};
  return 1 + made.fetch_add(1, std::memory_order_relaxed) % kTags;
}

}  // namespace

UserOps::UserOps() : tag_(nextTag()) {}

int UserOps::create(DataType type, const void* scalar, bool readLater) {
  std::size_t slot = slots_.size();
  if (!free_.empty()) {
    slot = free_.front();
    free_.pop_front();
  } else if (slot == kMaxSlots) {
    throw Error(ResultCode::kInvalidUsage,
                "{} operations exist already, which is the most that a communicator can have; destroy those "
                "that are not used any more (ncclRedOpDestroy)",
                kMaxSlots);
  } else {
    slots_.emplace_back();
  }
  Slot& made = slots_[slot];
  made = Slot{true, type, {ReduceOp::kSum, true, {}, nullptr}};
  if (readLater)
    made.reduction.scalarAddress = static_cast<const std::byte*>(scalar);
  else
    std::memcpy(made.reduction.scalar.data(), scalar, elementBytes(type));
  return kFirst + static_cast<int>((tag_ << kSlotBits) + slot);
}

std::size_t UserOps::slotOf(int op) const {
  if (op < 0)
    throw Error(ResultCode::kInvalidArgument, "op is {}; expected 0 to {} or one that was created", op,
                kFirst - 1);
  if (op < kFirst) throw Error(ResultCode::kInvalidArgument, "op is {}, which is built in", op);
  const auto number = static_cast<std::uint32_t>(op - kFirst);
  const std::size_t slot = number & (kMaxSlots - 1);
  if (number >> kSlotBits != tag_)
    throw Error(ResultCode::kInvalidArgument,
                "op is {}, which is neither built in nor an operation of this communicator", op);
  if (slot >= slots_.size() || !slots_[slot].live)
    throw Error(ResultCode::kInvalidArgument, "op is {}, which was destroyed or never created", op);
  return slot;
}

void UserOps::destroy(int op) {
  const std::size_t slot = slotOf(op);
  slots_[slot].live = false;
  free_.push_back(slot);
}

UserReduction UserOps::resolve(int op, DataType type) const {
  if (op >= 0 && op < kFirst) return {static_cast<ReduceOp>(op), false, {}, nullptr};
  const Slot& slot = slots_[slotOf(op)];
  if (slot.type != type)
    throw Error(ResultCode::kInvalidArgument, "op is {}, which was created for elements of type {}, not {}",
                op, name(slot.type), name(type));
  return slot.reduction;
}

}  // namespace xylem::comm
