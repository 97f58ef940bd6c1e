#pragma once
// A collective through nccl.h on inputs that every rank can compute, checked against a plain loop.
//
//   CheckedRank self(rank, ranks, comm);
//   self.run({Collective::kAllReduce, DataType::kFloat32, 0, 1003});   // fails the test if a result is wrong

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/data_type.h"
#include "core/kinds.h"
#include "nccl.h"
#include "runtime/collectives/reference_floats.h"
#include "support/reused_buffer.h"

namespace xylem::testing {

// Elements of every data type: conversions from and to double, and how far a reduced one may be off.

inline bool isFloat(DataType type) { return static_cast<int>(type) >= static_cast<int>(DataType::kFloat16); }

inline bool isSigned(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
}

inline double toDouble(DataType type, const std::byte* at) {
  if (type == DataType::kFloat32) {
    float v = 0;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  if (type == DataType::kFloat64) {
    double v = 0;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, elementBytes(type));
  if (isFloat(type)) return decode(formatOf(type), bits);
  const int unused = static_cast<int>(64 - 8 * elementBytes(type));
  if (isSigned(type)) return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
  return static_cast<double>(bits);
}

inline void fromDouble(DataType type, double value, std::byte* at) {
  if (type == DataType::kFloat32) {
    const auto v = static_cast<float>(value);
    std::memcpy(at, &v, sizeof v);
  } else if (type == DataType::kFloat64) {
    std::memcpy(at, &value, sizeof value);
  } else {
    const std::uint64_t bits = isFloat(type) ? encode(formatOf(type), value)
                                             : static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    std::memcpy(at, &bits, elementBytes(type));
  }
}

// The relative error of one rounding.
inline double roundingOf(DataType type) {
  switch (type) {
    case DataType::kFloat64:
      return std::ldexp(1, -53);
    case DataType::kFloat32:
      return std::ldexp(1, -24);
    case DataType::kFloat16:
      return std::ldexp(1, -11);
    case DataType::kBfloat16:
      return std::ldexp(1, -8);
    case DataType::kFloat8e4m3:
      return std::ldexp(1, -4);
    case DataType::kFloat8e5m2:
      return std::ldexp(1, -3);
    default:
      return 0;
  }
}

constexpr int kScaledSum = kReduceOps;  // the first number after the built-in operations
constexpr double kScalar = 3;

inline const char* const kCollectives[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};

struct Call {
  Collective collective;
  DataType type;
  int op;
  std::size_t count;
  int root = 0;
  bool inPlace = false;
};

// The period of a rank's input, in elements; its reductions have the same one.
constexpr std::size_t kPeriod = 11;

// Element i of a rank's input: small, so that no sum overflows.
inline double valueOf(const Call& c, int rank, std::size_t i) {
  const auto mixed = (i * 7 + static_cast<std::size_t>(rank) * 13 + c.count) % kPeriod;
  if (c.op == static_cast<int>(ReduceOp::kProd)) return mixed == 0 ? 2 : 1;
  return static_cast<double>(mixed % 4);
}

class CheckedRank {
 public:
  CheckedRank(int rank, int ranks, ncclComm_t comm) : rank_(rank), ranks_(ranks), comm_(comm) {}

  void run(const Call& c) {
    const std::size_t bytes = elementBytes(c.type);
    const std::size_t inputs = c.count * (c.collective == Collective::kReduceScatter ? n() : 1);
    const std::size_t outputs = c.count * (c.collective == Collective::kAllGather ? n() : 1);
    const std::span<std::byte> input = input_.get(inputs * bytes), output = output_.get(outputs * bytes);
    std::fill(output.begin(), output.end(), std::byte{0x77});
    for (std::size_t i = 0; i < std::min(inputs, kPeriod); ++i)
      fromDouble(c.type, valueOf(c, rank_, i), &input[i * bytes]);
    for (std::size_t filled = kPeriod; filled < inputs; filled *= 2)
      std::memcpy(&input[filled * bytes], input.data(), std::min(filled, inputs - filled) * bytes);
    std::byte *send = input.data(), *receive = output.data();
    if (c.inPlace) {
      const std::size_t own = static_cast<std::size_t>(rank_) * c.count * bytes;
      if (c.collective == Collective::kAllGather) {
        std::copy(input.begin(), input.end(), output.begin() + static_cast<std::ptrdiff_t>(own));
        send = receive + own;
      } else if (c.collective == Collective::kReduceScatter) {
        receive = send + own;
      } else {
        receive = send;
      }
    }
    call(c, send, receive);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << ncclGetLastError(comm_);
    check(c, receive, outputs);
  }

 private:
  std::size_t n() const { return static_cast<std::size_t>(ranks_); }

  void call(const Call& c, const std::byte* send, std::byte* receive) {
    const auto type = static_cast<ncclDataType_t>(c.type);
    auto op = static_cast<ncclRedOp_t>(c.op);
    if (c.op == kScaledSum) {
      std::byte scalar[8];
      fromDouble(c.type, kScalar, scalar);
      ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, scalar, type, ncclScalarHostImmediate, comm_), ncclSuccess)
          << ncclGetLastError(comm_);
    }
    ncclResult_t result = ncclSuccess;
    switch (c.collective) {
      case Collective::kBroadcast:
        result = ncclBroadcast(send, receive, c.count, type, c.root, comm_, nullptr);
        break;
      case Collective::kReduce:
        result = ncclReduce(send, receive, c.count, type, op, c.root, comm_, nullptr);
        break;
      case Collective::kAllGather:
        result = ncclAllGather(send, receive, c.count, type, comm_, nullptr);
        break;
      case Collective::kReduceScatter:
        result = ncclReduceScatter(send, receive, c.count, type, op, comm_, nullptr);
        break;
      case Collective::kAllReduce:
        result = ncclAllReduce(send, receive, c.count, type, op, comm_, nullptr);
        break;
      default:
        FAIL() << "no collective";
    }
    ASSERT_EQ(result, ncclSuccess) << ncclGetLastError(comm_);
    if (c.op == kScaledSum) {
      ASSERT_EQ(ncclRedOpDestroy(op, comm_), ncclSuccess);
    }
  }

  // The expected element i of the output, and how far it may be off.
  std::pair<double, double> expected(const Call& c, std::size_t i) const {
    if (c.collective == Collective::kBroadcast) return {valueOf(c, c.root, i), 0};
    if (c.collective == Collective::kAllGather)
      return {valueOf(c, static_cast<int>(i / c.count), i % c.count), 0};
    if (c.collective == Collective::kReduceScatter) i += static_cast<std::size_t>(rank_) * c.count;
    double result = valueOf(c, 0, i) * (c.op == kScaledSum ? kScalar : 1);
    for (int r = 1; r < ranks_; ++r) {
      const double v = valueOf(c, r, i);
      switch (c.op) {
        case static_cast<int>(ReduceOp::kProd):
          result *= v;
          break;
        case static_cast<int>(ReduceOp::kMax):
          result = std::max(result, v);
          break;
        case static_cast<int>(ReduceOp::kMin):
          result = std::min(result, v);
          break;
        default:
          result += v * (c.op == kScaledSum ? kScalar : 1);
      }
    }
    // At most n operands were rounded, and each partial sum.
    const double off = 2 * ranks_ * roundingOf(c.type) * result;
    if (c.op == static_cast<int>(ReduceOp::kAvg))
      return isFloat(c.type) ? std::pair{result / ranks_, off / ranks_}
                             : std::pair{std::trunc(result / ranks_), 0.0};
    return {result, off};
  }

  void check(const Call& c, const std::byte* receive, std::size_t outputs) {
    if (c.collective == Collective::kReduce && rank_ != c.root) return;
    const std::size_t bytes = elementBytes(c.type);
    // In a gathered buffer the input of each rank starts anew.
    const std::size_t part = c.collective == Collective::kAllGather ? c.count : outputs;
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::byte* element = receive + i * bytes;
      // A part that repeats itself, as it must, is right if its first period is.
      if (i % part == kPeriod &&
          std::memcmp(element, element - kPeriod * bytes, (part - kPeriod) * bytes) == 0) {
        i += part - kPeriod - 1;
        continue;
      }
      const auto [value, off] = expected(c, i);
      ASSERT_NEAR(toDouble(c.type, element), value, off)
          << kCollectives[static_cast<int>(c.collective)] << " " << name(c.type) << " op " << c.op
          << " element " << i << " of " << outputs << ", rank " << rank_ << " of " << ranks_ << ", root "
          << c.root << (c.inPlace ? ", in place" : "");
    }
  }

  int rank_, ranks_;
  ncclComm_t comm_;
  ReusedBuffer input_, output_;
};

}  // namespace xylem::testing
