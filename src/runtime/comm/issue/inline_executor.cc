#include "runtime/comm/issue/inline_executor.h"

#include <algorithm>
#include <cstring>

#include "runtime/comm/issue/schedule.h"
#include "runtime/device/waiting.h"

namespace xylem::comm {
namespace {

// How often an operation is stepped: about half a microsecond, and the time that other ranks may need for
// their part of the data.
constexpr std::size_t kTries = 32, kBytesPerTry = 256;
// If other ranks were late, at most this many operations are stepped only once before waiting is tried again.
constexpr int kMaxSkipped = 64;

// Limits of what an inline call may take time for: bytes of a collective over all ranks, and transfers of a
// group and their bytes.
constexpr std::size_t kMaxExchangedBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxTransfers = 16;
constexpr std::size_t kMaxTransferBytes = std::size_t{16} << 10;

// Whether the operations differ by their buffers only. Scaled ones never count as equal: their scalars may
// have changed.
bool sameButBuffers(const CommOperation& a, const CommOperation& b) {
  return a.function == b.function && a.count == b.count && a.type == b.type && a.peer == b.peer &&
         a.reduction.op == b.reduction.op && !a.reduction.scaled && !b.reduction.scaled;
}

}  // namespace

InlineExecutor::Outcome InlineExecutor::tryNow(std::span<const CommOperation> operations) {
  const CommOperation& first = operations.front();
  // Once earlier launches are over, their writes are visible here, whatever thread ran them. A thread that
  // enqueues into the stream from now on does so beside this call, which has not returned, and so has no
  // order with it.
  if (!launches_.idle() || launches_.failed() || first.stream->pending()) return Outcome::kNotTaken;
  if (!isPointToPoint(first.function))
    return operations.size() == 1 ? exchangeNow(first) : Outcome::kNotTaken;
  return areSmallTransfers(operations) ? transferNow(operations) : Outcome::kNotTaken;
}

InlineExecutor::Outcome InlineExecutor::exchangeNow(const CommOperation& operation) {
  const std::size_t bytes = operation.count * elementBytes(operation.type) * static_cast<std::size_t>(ranks_);
  if (mailboxes_ == nullptr || !mailboxes_->ready() || bytes == 0 || bytes > kMaxExchangedBytes)
    return Outcome::kNotTaken;
  collectives::DirectExchange& exchange = mailboxes_->exchange();
  if (sameButBuffers(operation, prepared_) && exchange.starts() == startsThen_) {
    exchange.startAgain(operation.send, operation.receive);
  } else {
    start(exchange, operation);
  }
  transfersBegun_.clear();
  const bool done =
      finishes(bytes, [&exchange] { return exchange.step() == collectives::DirectExchange::Outcome::kDone; });
  return record({&operation, 1}, kDirectPath, done);
}

void InlineExecutor::start(collectives::DirectExchange& exchange, const CommOperation& operation) {
  collectives::DirectWork work = directWorkOf(operation, ranks_);
  if (operation.reduction.scalarAddress != nullptr)
    std::memcpy(work.reduction.factor.element.data(), operation.reduction.scalarAddress,
                elementBytes(operation.type));
  exchange.start(work);
  prepared_ = operation;
  startsThen_ = exchange.starts();
}

bool InlineExecutor::areSmallTransfers(std::span<const CommOperation> operations) {
  if (operations.size() > kMaxTransfers) return false;
  std::size_t bytes = 0;
  for (const CommOperation& operation : operations) {
    if (!isPointToPoint(operation.function) || operation.stream != operations.front().stream) return false;
    bytes += operation.count * elementBytes(operation.type);
  }
  return bytes <= kMaxTransferBytes;
}

InlineExecutor::Outcome InlineExecutor::transferNow(std::span<const CommOperation> operations) {
  parts_ = transfers_.cut(operations);
  if (!startTransfers()) return Outcome::kNotTaken;
  const bool done = finishes(0, [this] { return stepTransfers(); });
  return record(operations, 0, done);
}

InlineExecutor::Outcome InlineExecutor::record(std::span<const CommOperation> operations, std::uint64_t path,
                                               bool done) {
  if (done) {
    recorder_.addDone(operations, path);
    return Outcome::kDone;
  }
  begunRecorder_.begin(recorder_);
  for (const CommOperation& operation : operations) begunRecorder_.add(operation, path);
  begunRecorder_.startAtOnce();
  return Outcome::kBegun;
}

// Returns false if a transfer has to wait for its connection, or for another transfer in its queue.
bool InlineExecutor::startTransfers() {
  try {
    if (!transfers_.apart() || !transfers_.connect()) return false;
  } catch (const Error& error) {
    launches_.fail(error);  // the launch that follows ends with it
    return false;
  }
  transfersBegun_.resize(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) transfersBegun_[i].start(parts_[i].work);
  return true;
}

bool InlineExecutor::stepTransfers() {
  bool through = true;
  for (collectives::Transfer& transfer : transfersBegun_)
    through = transfer.step() == device::Progress::kDone && through;
  return through;
}

// Waiting pays off if the other ranks come at about the same time. After each wait in vain, the number of
// operations until the next wait doubles; after a success the next operation waits again.
template <typename Step>
bool InlineExecutor::finishes(std::size_t bytes, Step&& step) {
  const bool waits = spins_ && ++skipped_ >= patience_;
  if (waits) skipped_ = 0;
  try {
    for (std::size_t tries = waits ? kTries + bytes / kBytesPerTry : 1; tries > 0; --tries) {
      if (step()) {
        patience_ = 1;
        return true;
      }
      device::pauseProcessor();
    }
  } catch (const Error& error) {
    launches_.fail(error);  // the launch that goes on with the operation ends with it
  }
  if (waits) patience_ = std::min(2 * patience_, kMaxSkipped);
  return false;
}

void InlineExecutor::handOver(LaunchTask& launch) const {
  if (transfersBegun_.empty())
    launch.adopt(begunRecorder_);
  else
    launch.adopt(begunRecorder_, transfersBegun_);
}

}  // namespace xylem::comm
