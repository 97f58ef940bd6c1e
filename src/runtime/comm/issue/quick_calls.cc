#include "runtime/comm/issue/quick_calls.h"

#include <algorithm>
#include <cstring>

#include "runtime/comm/issue/direct_work.h"
#include "runtime/device/waiting.h"

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

// Programs repeat what they call. Scalars may have changed.
bool sameWork(const CommOperation& a, const CommOperation& b) {
  return a.function == b.function && a.count == b.count && a.type == b.type && a.peer == b.peer &&
         a.reduction.op == b.reduction.op && !a.reduction.scaled && !b.reduction.scaled;
}

}  // namespace

QuickCalls::Outcome QuickCalls::tryNow(std::span<const CommOperation> operations) {
  const CommOperation& first = operations.front();
  // What earlier launches did, on whatever thread, is visible once they are over. Who enqueues into the
  // stream from now on does not know of this call, as it has not returned.
  if (!launches_.idle() || launches_.failed() || first.stream->pending()) return Outcome::kNotTaken;
  if (!isPointToPoint(first.function))
    return operations.size() == 1 ? exchangeNow(first) : Outcome::kNotTaken;
  return mayTransfer(operations) ? transferNow(operations) : Outcome::kNotTaken;
}

QuickCalls::Outcome QuickCalls::exchangeNow(const CommOperation& operation) {
  const std::size_t bytes = operation.count * elementBytes(operation.type) * static_cast<std::size_t>(ranks_);
  if (boards_ == nullptr || !boards_->ready() || bytes == 0 || bytes > kMostExchangedBytes)
    return Outcome::kNotTaken;
  DirectExchange& exchange = boards_->exchange();
  if (sameWork(operation, prepared_) && exchange.starts() == startsThen_) {
    exchange.startAgain(operation.send, operation.receive);
  } else {
    start(exchange, operation);
  }
  transfersBegun_.clear();
  const bool done =
      finishes(bytes, [&exchange] { return exchange.step() == DirectExchange::Outcome::kDone; });
  return note({&operation, 1}, kDirectWay, done);
}

void QuickCalls::start(DirectExchange& exchange, const CommOperation& operation) {
  DirectWork work = directWorkOf(operation, ranks_);
  if (operation.reduction.scalarAddress != nullptr)
    std::memcpy(work.reduction.factor.element.data(), operation.reduction.scalarAddress,
                elementBytes(operation.type));
  exchange.start(work);
  prepared_ = operation;
  startsThen_ = exchange.starts();
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

QuickCalls::Outcome QuickCalls::transferNow(std::span<const CommOperation> operations) {
  parts_ = transfers_.cut(operations);
  if (!startTransfers()) return Outcome::kNotTaken;
  const bool done = finishes(0, [this] { return stepTransfers(); });
  return note(operations, 0, done);
}

QuickCalls::Outcome QuickCalls::note(std::span<const CommOperation> operations, std::uint64_t way,
                                     bool done) {
  if (done) {
    recorder_.addDone(operations, way);
    return Outcome::kDone;
  }
  flight_.begin(recorder_);
  for (const CommOperation& operation : operations) flight_.add(operation, way);
  flight_.startAtOnce();
  return Outcome::kBegun;
}

// False if one has to wait for its connection, or for another one on its queue.
bool QuickCalls::startTransfers() {
  try {
    if (!transfers_.apart() || !transfers_.connect()) return false;
  } catch (const Error& error) {
    launches_.fail(error);  // the launch ends with that
    return false;
  }
  transfersBegun_.resize(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) transfersBegun_[i].start(parts_[i].work);
  return true;
}

bool QuickCalls::stepTransfers() {
  bool through = true;
  for (Transfer& transfer : transfersBegun_) through = transfer.step() == Progress::kDone && through;
  return through;
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
