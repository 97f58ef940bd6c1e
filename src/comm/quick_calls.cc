#include "comm/quick_calls.h"

#include <algorithm>
#include <cstring>

#include "comm/direct_work.h"
#include "device/waiting.h"

namespace xylem {
namespace {

// About half a microsecond; and the time that others may need for their part of the data.
constexpr std::size_t kTries = 32, kBytesPerTry = 256;
// After others were late, waiting is tried again after so many operations at most.
constexpr int kMostSkipped = 64;

// A collective of so many bytes of all ranks together, and groups of so many sends and receives of so many
// bytes: what a call may take time for.
constexpr std::size_t kMostExchangedBytes = std::size_t{64} << 10;
constexpr std::size_t kMostTransfers = 16;
constexpr std::size_t kMostTransferBytes = std::size_t{16} << 10;

// The claim of a stream that has nothing to do, unless kept.
class Claim {
 public:
  explicit Claim(Stream& stream) : stream_(stream) {
    if (stream.pending() || !stream.tryClaim()) return;
    held_ = true;
    if (stream.pending()) release();
  }
  ~Claim() { release(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  bool held() const { return held_; }
  void keep() { held_ = false; }

 private:
  void release() {
    if (held_) stream_.release();
    held_ = false;
  }
  Stream& stream_;
  bool held_ = false;
};

}  // namespace

bool QuickCalls::mayExchange(const CommOperation& operation) const {
  if (boards_ == nullptr || !boards_->ready() || isPointToPoint(operation.function) || operation.count == 0)
    return false;
  return bytesOfAll(operation) <= kMostExchangedBytes;
}

std::size_t QuickCalls::bytesOfAll(const CommOperation& operation) const {
  return operation.count * elementBytes(operation.type) * static_cast<std::size_t>(ranks_);
}

bool QuickCalls::mayTransfer(std::span<const CommOperation> operations) {
  if (operations.size() > kMostTransfers) return false;
  std::size_t bytes = 0;
  for (const CommOperation& operation : operations) {
    if (!isPointToPoint(operation.function) || operation.stream != operations.front().stream) return false;
    bytes += operation.count * elementBytes(operation.type);
  }
  return bytes <= kMostTransferBytes;
}

QuickCalls::Outcome QuickCalls::tryNow(std::span<const CommOperation> operations) {
  // What earlier launches did, on whatever thread, is visible once they are over.
  if (!launches_.idle() || launches_.failed()) return Outcome::kNotTaken;
  const CommOperation& first = operations.front();
  const bool exchanges = operations.size() == 1 && mayExchange(first);
  if (!exchanges && !mayTransfer(operations)) return Outcome::kNotTaken;
  Claim claim(*first.stream);
  if (!claim.held()) return Outcome::kNotTaken;
  if (!exchanges) {
    parts_ = transfers_.cut(operations);
    if (!startTransfers()) return Outcome::kNotTaken;
  }
  if (exchanges) {
    DirectWork work = directWorkOf(first, ranks_);
    if (first.reduction.scalarAddress != nullptr)
      std::memcpy(work.reduction.factor.element.data(), first.reduction.scalarAddress,
                  elementBytes(first.type));
    transfersBegun_.clear();
    boards_->exchange().start(work);
  }
  const bool done =
      exchanges ? finishes(bytesOfAll(first),
                           [this] { return boards_->exchange().step() == DirectExchange::Outcome::kDone; })
                : finishes(0, [this] { return stepTransfers(); });
  const std::uint64_t way = exchanges ? kDirectWay : 0;
  if (done) {
    recorder_.addDone(operations, way);
    return Outcome::kDone;
  }
  flight_.begin(recorder_);
  for (const CommOperation& operation : operations) flight_.add(operation, way);
  flight_.startAtOnce();
  claim.keep();
  return Outcome::kBegun;
}

// False if one has to wait for its connection, or for another one on its queue.
bool QuickCalls::startTransfers() {
  try {
    for (const TransferPart& part : parts_)
      if (part.connection != nullptr && !part.connection->advance()) return false;
  } catch (const Error& error) {
    launches_.fail(error);  // the launch ends with that
    return false;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before)
      if (parts_[before].key == parts_[i].key) return false;
  }
  left_ = parts_.size();
  transfersBegun_.resize(left_);
  through_.assign(left_, false);
  for (std::size_t i = 0; i < left_; ++i) transfersBegun_[i].start(parts_[i].connected());
  return true;
}

bool QuickCalls::stepTransfers() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (through_[i] || transfersBegun_[i].step() != Progress::kDone) continue;
    through_[i] = true;
    --left_;
  }
  return left_ == 0;
}

template <typename Step>
bool QuickCalls::finishes(std::size_t bytes, Step&& step) {
  const bool waits = spins_ && ++skipped_ >= patience_;
  if (waits) skipped_ = 0;
  try {
    for (std::size_t tries = waits ? kTries + bytes / kBytesPerTry : 1; tries > 0; --tries) {
      if (step()) {
        patience_ = 1;
        return true;
      }
      pauseProcessor();
    }
  } catch (const Error& error) {
    launches_.fail(error);  // the launch that goes on with it ends with that
  }
  if (waits) patience_ = std::min(2 * patience_, kMostSkipped);
  return false;
}

void QuickCalls::handOver(Launch& launch) const {
  if (transfersBegun_.empty())
    launch.adopt(flight_);
  else
    launch.adopt(flight_, transfersBegun_);
}

}  // namespace xylem
