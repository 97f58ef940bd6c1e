#include "bootstrap/ring.h"

#include <poll.h>

#include <cstring>

#include "core/error.h"

namespace xylem {
namespace {

constexpr int kLastWordsMilliseconds = 200;

}  // namespace

Error Ring::ended(int rank) const {
  return Error(ResultCode::kRemoteError, "rank {} ended while the communicator was being made", rank);
}

bool Ring::hearBadNews(FrameStream& stream, int neighbour) {
  if (!stream.open())
    throw Error(ResultCode::kInternalError, "rank {} has closed its connection to rank {}", rank_, neighbour);
  FrameHeader header;
  const FrameStream::Read seen = stream.peek(header);
  if (seen == FrameStream::Read::kClosed) return false;
  if (seen != FrameStream::Read::kFrame || header.kind != FrameKind::kError) return true;
  Frame frame;
  if (stream.read(frame, 0) == FrameStream::Read::kFrame)
    throw Error(ResultCode::kRemoteError, "{}", frame.text());
  return true;
}

void Ring::check() {
  if (ranks_ == 1) return;
  if (!hearBadNews(previous_, previousRank())) throw ended(previousRank());
  if (!hearBadNews(next_, nextRank())) throw ended(nextRank());
}

void Ring::abort(std::string_view reason) noexcept {
  for (FrameStream* stream : {&next_, &previous_}) {
    if (!stream->open()) continue;
    try {
      stream->queueError(ResultCode::kRemoteError, reason);
      stream->flushWithin(kLastWordsMilliseconds);
    } catch (const std::exception&) {
      // The neighbour then sees that this rank is gone.
    }
    stream->endWriting();
  }
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(kLastWordsMilliseconds));
  for (FrameStream* stream : {&next_, &previous_}) stream->awaitClose(deadline);
}

void Ring::exchange(std::span<const std::byte> out, std::span<std::byte> in, const Deadline& deadline) {
  next_.queue(FrameKind::kData, out);
  bool received = false;
  while (!received || !next_.flushed()) {
    if (!next_.flush()) {
      hearBadNews(next_, nextRank());
      throw ended(nextRank());
    }
    received = received || receiveBlock(in);
    if (received && next_.flushed()) return;
    // The next rank only ever sends bad news. That it is gone is none: it may have all it needs of us, and if
    // it has not, those behind it will say so.
    const bool nextGone = !hearBadNews(next_, nextRank());
    if (deadline.passed())
      throw Error(ResultCode::kRemoteError, "timed out after {} s waiting for rank {}", timeout_.count(),
                  received ? nextRank() : previousRank());
    const auto nextEvents = static_cast<short>(next_.flushed() ? POLLIN : POLLIN | POLLOUT);
    pollfd fds[2] = {{nextGone ? -1 : next_.fd(), nextEvents, 0},
                     {received ? -1 : previous_.fd(), POLLIN, 0}};
    poll(fds, 2, deadline.pollMilliseconds());
  }
}

bool Ring::receiveBlock(std::span<std::byte> in) {
  Frame frame;
  const FrameStream::Read read = previous_.read(frame, in.size());
  if (read == FrameStream::Read::kClosed) throw ended(previousRank());
  if (read == FrameStream::Read::kNothing) return false;
  if (frame.header.kind == FrameKind::kError) throw Error(ResultCode::kRemoteError, "{}", frame.text());
  if (frame.header.kind != FrameKind::kData || frame.payload.size() != in.size())
    throw Error(ResultCode::kRemoteError,
                "rank {} sent {} bytes where {} are expected: is it the same version?", previousRank(),
                frame.payload.size(), in.size());
  if (!in.empty()) std::memcpy(in.data(), frame.payload.data(), in.size());
  return true;
}

void Ring::allGatherBlocks(std::span<std::byte> all, std::size_t blockBytes) {
  const Deadline deadline = Deadline::after(timeout_);
  const auto block = [&](int rank) {
    return all.subspan(static_cast<std::size_t>((rank % ranks_ + ranks_) % ranks_) * blockBytes, blockBytes);
  };
  for (int step = 0; step < ranks_ - 1; ++step)
    exchange(block(rank_ - step), block(rank_ - step - 1), deadline);
}

std::vector<std::vector<std::byte>> Ring::allGatherBytes(std::span<const std::byte> mine, std::size_t limit) {
  if (mine.size() > limit)
    throw Error(ResultCode::kInternalError, "rank {} wants to tell {} bytes; at most {} are allowed", rank_,
                mine.size(), limit);
  const std::vector<std::uint64_t> sizes = allGather(static_cast<std::uint64_t>(mine.size()));
  std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(ranks_));
  for (int r = 0; r < ranks_; ++r) {
    const std::uint64_t bytes = sizes[static_cast<std::size_t>(r)];
    if (bytes > limit)
      throw Error(ResultCode::kRemoteError, "rank {} announces {} bytes; at most {} are allowed", r, bytes,
                  limit);
    all[static_cast<std::size_t>(r)].resize(bytes);
  }
  std::copy(mine.begin(), mine.end(), all[static_cast<std::size_t>(rank_)].begin());
  const Deadline deadline = Deadline::after(timeout_);
  const auto block = [&](int rank) -> std::vector<std::byte>& {
    return all[static_cast<std::size_t>((rank % ranks_ + ranks_) % ranks_)];
  };
  for (int step = 0; step < ranks_ - 1; ++step)
    exchange(block(rank_ - step), block(rank_ - step - 1), deadline);
  return all;
}

}  // namespace xylem
