// Reduction operations that programs make: their numbers, and which communicator they work for.

#include "runtime/comm/issue/user_ops.h"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "core/error.h"

namespace xylem::comm {
namespace {

using ::testing::HasSubstr;

constexpr float kHalf = 0.5f;

template <typename Work>
void expectRefused(Work&& work, const char* text) {
  try {
    work();
    FAIL() << "was accepted; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(UserOps, BuiltInOperationsAreThemselves) {
  const UserOps ops;
  for (int op = 0; op < kReduceOps; ++op) {
    const UserReduction found = ops.resolve(op, DataType::kInt8);
    EXPECT_EQ(static_cast<int>(found.op), op);
    EXPECT_FALSE(found.scaled);
  }
}

TEST(UserOps, TheScalarIsReadAtOnceOrLater) {
  UserOps ops;
  float scalar = 0.5f;
  const int now = ops.create(DataType::kFloat32, &scalar, false);
  const int later = ops.create(DataType::kFloat32, &scalar, true);
  scalar = 3;
  EXPECT_GE(now, UserOps::kFirst);
  EXPECT_NE(now, later);
  const UserReduction immediate = ops.resolve(now, DataType::kFloat32);
  EXPECT_EQ(immediate.op, ReduceOp::kSum);
  EXPECT_TRUE(immediate.scaled);
  EXPECT_EQ(immediate.scalarAddress, nullptr);
  EXPECT_EQ(std::memcmp(immediate.scalar.data(), &kHalf, sizeof kHalf), 0);
  EXPECT_EQ(static_cast<const void*>(ops.resolve(later, DataType::kFloat32).scalarAddress), &scalar);
}

TEST(UserOps, ADestroyedOneIsUnknown) {
  UserOps ops;
  const int op = ops.create(DataType::kFloat32, &kHalf, false);
  ops.destroy(op);
  expectRefused([&] { ops.resolve(op, DataType::kFloat32); }, "destroyed");
  expectRefused([&] { ops.destroy(op); }, "destroyed");
}

TEST(UserOps, NumbersAreUsedAgainAsLateAsPossible) {
  UserOps ops;
  const int first = ops.create(DataType::kFloat32, &kHalf, false);
  const int second = ops.create(DataType::kFloat32, &kHalf, false);
  ops.destroy(second);
  ops.destroy(first);
  EXPECT_EQ(ops.create(DataType::kFloat32, &kHalf, false), second);
  EXPECT_EQ(ops.create(DataType::kFloat32, &kHalf, false), first);
}

TEST(UserOps, OnlyForItsTypeAndCommunicator) {
  UserOps ops, others;
  const int op = ops.create(DataType::kFloat32, &kHalf, false);
  others.create(DataType::kFloat32, &kHalf, false);
  expectRefused([&] { ops.resolve(op, DataType::kFloat64); },
                "created for elements of type float, not double");
  expectRefused([&] { others.resolve(op, DataType::kFloat32); }, "nor an operation of this communicator");
  expectRefused([&] { others.destroy(op); }, "nor an operation of this communicator");
  expectRefused([&] { ops.destroy(static_cast<int>(ReduceOp::kMax)); }, "built in");
  expectRefused([&] { ops.resolve(-1, DataType::kFloat32); }, "op is -1; expected 0 to 4");
}

TEST(UserOps, ThereIsALimit) {
  UserOps ops;
  std::set<int> numbers;
  for (int i = 0; i < 65536; ++i) numbers.insert(ops.create(DataType::kFloat32, &kHalf, false));
  EXPECT_EQ(numbers.size(), 65536u);
  EXPECT_GE(*numbers.begin(), UserOps::kFirst);
  EXPECT_THROW(ops.create(DataType::kFloat32, &kHalf, false), Error);
  ops.destroy(*numbers.begin());
  EXPECT_EQ(ops.create(DataType::kFloat32, &kHalf, false), *numbers.begin());
}

}  // namespace
}  // namespace xylem::comm
