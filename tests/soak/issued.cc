#include "soak/issued.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace xylem::soak {
namespace {

bool canBeInPlace(Function f) { return f != Function::kTransfer && f != Function::kAlltoAll; }

}  // namespace

Issued::Issued(const Operation& operation, const Comm& comm, int rank, Side side, Random& random)
    : operation_(operation),
      rank_(rank),
      ranks_(comm.size()),
      side_(side),
      inPlace_(operation.function == Function::kBcast ||
               (canBeInPlace(operation.function) && random.chance(35))),
      deviceScalar_(random.chance(50)) {
  const std::size_t block = operation.count * bytesOf(operation.type);
  const std::size_t sendBytes = sends() || inPlace_ ? blocks(true) * block : 0;
  const std::size_t receiveBytes = receives() || inPlace_ ? blocks(false) * block : 0;
  if (inPlace_) {
    send_ = Buffer(std::max(sendBytes, receiveBytes), random);
    const std::size_t own = static_cast<std::size_t>(rank) * block;
    input_ = send_.data() + (operation.function == Function::kAllGather ? own : 0);
    output_ = send_.data() + (operation.function == Function::kReduceScatter ? own : 0);
  } else {
    if (sends()) send_ = Buffer(sendBytes, random);
    if (receives()) receive_ = Buffer(receiveBytes, random);
    input_ = send_.data();
    output_ = receive_.data();
  }
  if (operation.op == Combine::kScaledSum) scalar_ = Buffer(bytesOf(operation.type), random);
}

std::size_t Issued::blocks(bool ofSend) const {
  const Function many = ofSend ? Function::kReduceScatter : Function::kAllGather;
  return operation_.function == many || operation_.function == Function::kAlltoAll
             ? static_cast<std::size_t>(ranks_)
             : 1;
}

bool Issued::sends() const {
  if (operation_.function == Function::kBcast || operation_.function == Function::kBroadcast)
    return rank_ == operation_.root;
  return side_ != Side::kReceive;
}

bool Issued::receives() const {
  if (operation_.function == Function::kReduce) return rank_ == operation_.root;
  return side_ != Side::kSend;
}

Values Issued::values() const { return Values({operation_.type, operation_.op, operation_.seed, ranks_}); }

void Issued::fill() {
  if (sends()) values().fill(rank_, 0, blocks(true) * operation_.count, input_);
  if (scalar_.data() != nullptr) values().scalar(rank_, scalar_.data());
}

void Issued::spoil() {
  if (inPlace_) return;
  if (sends()) std::memset(send_.data(), 0x5a, send_.size());
  if (scalar_.data() != nullptr) std::memset(scalar_.data(), 0x5a, scalar_.size());
}

ncclResult_t Issued::call(ncclComm_t handle, cudaStream_t stream) {
  if (operation_.op != Combine::kScaledSum) {
    constexpr ncclRedOp_t kOps[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};
    const bool copies = operation_.op == Combine::kCopy;
    return issue(handle, copies ? ncclSum : kOps[static_cast<int>(operation_.op)], stream);
  }
  std::byte scalar[8];
  values().scalar(rank_, scalar);
  ncclRedOp_t op = ncclSum;
  const ncclResult_t made =
      ncclRedOpCreatePreMulSum(&op, deviceScalar_ ? scalar_.data() : scalar, operation_.type,
                               deviceScalar_ ? ncclScalarDevice : ncclScalarHostImmediate, handle);
  if (made != ncclSuccess) return made;
  const ncclResult_t result = issue(handle, op, stream);
  const ncclResult_t destroyed = ncclRedOpDestroy(op, handle);
  return result == ncclSuccess ? destroyed : result;
}

ncclResult_t Issued::issue(ncclComm_t handle, ncclRedOp_t op, cudaStream_t stream) {
  const Operation& o = operation_;
  switch (o.function) {
    case Function::kReduce:
      return ncclReduce(input_, output_, o.count, o.type, op, o.root, handle, stream);
    case Function::kBcast:
      return ncclBcast(output_, o.count, o.type, o.root, handle, stream);
    case Function::kBroadcast:
      return ncclBroadcast(input_, output_, o.count, o.type, o.root, handle, stream);
    case Function::kAllReduce:
      return ncclAllReduce(input_, output_, o.count, o.type, op, handle, stream);
    case Function::kReduceScatter:
      return ncclReduceScatter(input_, output_, o.count, o.type, op, handle, stream);
    case Function::kAllGather:
      return ncclAllGather(input_, output_, o.count, o.type, handle, stream);
    case Function::kAlltoAll:
      return ncclAlltoAll(input_, output_, o.count, o.type, handle, stream);
    case Function::kTransfer:
      break;
  }
  return side_ == Side::kSend ? ncclSend(input_, o.count, o.type, o.receiver, handle, stream)
                              : ncclRecv(output_, o.count, o.type, o.root, handle, stream);
}

void Issued::compare(const Mismatch& mismatch, const char* what, int of) {
  if (mismatch.count == 0 || !wrong_.empty()) return;
  wrong_ = fmt::format("{} of {} elements are wrong, element {} {} {}: {}", mismatch.count, operation_.count,
                       mismatch.first, what, of, mismatch.text);
}

void Issued::check() {
  if (std::exchange(checked_, true)) return;
  if (receives()) {
    const std::size_t count = operation_.count;
    switch (operation_.function) {
      case Function::kBcast:
      case Function::kBroadcast:
      case Function::kTransfer:
        compare(values().checkCopied(operation_.root, 0, count, output_), "from rank", operation_.root);
        break;
      case Function::kAllGather:
      case Function::kAlltoAll: {
        const bool toAll = operation_.function == Function::kAlltoAll;
        const std::size_t first = toAll ? static_cast<std::size_t>(rank_) * count : 0;
        for (int r = 0; r < ranks_; ++r)
          compare(
              values().checkCopied(r, first, count,
                                   output_ + static_cast<std::size_t>(r) * count * bytesOf(operation_.type)),
              "from rank", r);
        break;
      }
      case Function::kReduceScatter:
        compare(values().checkReduced(static_cast<std::size_t>(rank_) * count, count, output_), "of block",
                rank_);
        break;
      case Function::kReduce:
      case Function::kAllReduce:
        compare(values().checkReduced(0, count, output_), "of rank", rank_);
        break;
    }
  }
  if (wrong_.empty() && !(send_.marksAreThere() && receive_.marksAreThere() && scalar_.marksAreThere()))
    wrong_ = "memory beside a buffer was written";
}

std::string Issued::description() const {
  return fmt::format("{}, rank {} of {}{}", describe(operation_), rank_, ranks_,
                     inPlace_ ? ", in place" : "");
}

}  // namespace xylem::soak
