// How every rank of a group learns something of every other: what they say goes up a binomial tree, in which
// each rank adds what those below it said to its own, and comes down again, all together, unless only the
// first is to hear it. Where ranks share cores, time goes by messages, of which that takes two per rank; in
// steps it is no more than twice the logarithm. Every second rank hangs on the one before it, to which it is
// connected anyway.

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/gathered.h"
#include "core/error.h"

namespace xylem {

std::size_t Bootstrap::indexAmong(std::span<const int> members) const {
  for (const int member : members)
    if (member < 0 || member >= ranks_)
      throw Error(ResultCode::kInvalidArgument, "there is no rank {} of {} in this job", member, ranks_);
  const auto self = std::find(members.begin(), members.end(), rank_);
  if (self == members.end())
    throw Error(ResultCode::kInvalidArgument, "rank {} is not among the ranks it names", rank_);
  return static_cast<std::size_t>(self - members.begin());
}

std::uint64_t Bootstrap::groupOf(std::span<const int> members) const {
  if (std::equal(members.begin(), members.end(), everyone_.begin(), everyone_.end())) return 0;
  std::uint8_t digest[16];
  hash(digest, sizeof digest, members.data(), members.size_bytes());
  std::uint64_t group = 0;
  std::memcpy(&group, digest, sizeof group);
  return group;
}

void Bootstrap::tell(int peer, std::uint64_t tag, std::span<const std::byte> bytes) {
  if (links_.knows(peer) && !links_.linked(peer)) links_.call(peer);
  links_.send(peer, FrameKind::kData, tag, bytes);
}

// `bytes`: as many as are expected, or kAnyBytes.
std::vector<std::byte> Bootstrap::hearFrom(const Phase& phase, int peer, std::uint64_t tag,
                                           std::size_t bytes) {
  Frame frame;
  await(phase, peer, [&] { return links_.take(peer, FrameKind::kData, tag, frame); });
  if (bytes != kAnyBytes && frame.payload.size() != bytes) {
    // Whoever has given up may have been elsewhere: why it did says more.
    links_.step(0, {});
    look();
    throw Error(
        ResultCode::kRemoteError,
        "rank {} sent {} bytes in {} where {} are expected: is it the same version, in the same phase?", peer,
        frame.payload.size(), phase.what, bytes);
  }
  return std::move(frame.payload);
}

// What all members say, in their order; nothing if only the first hears it. Each says `each` bytes, or as
// many as it likes (kAnyBytes).
std::vector<std::byte> Bootstrap::gather(const Phase& phase, std::span<const std::byte> mine,
                                         std::size_t each, Hears hears) {
  const std::span<const int> members = phase.members;
  const std::size_t n = members.size();
  const std::size_t self = indexAmong(members);
  const std::uint64_t group = groupOf(members);
  const std::uint64_t tag = group + ++calls_[group];
  look();
  const auto bytesOf = [each](std::size_t count) { return each == kAnyBytes ? kAnyBytes : count * each; };
  // Those below a rank begin with it, and are as many as its lowest bit says.
  const std::size_t below = self == 0 ? std::bit_ceil(n) : self & (~self + 1);
  std::vector<std::byte> all(mine.begin(), mine.end());
  std::vector<int> children;
  for (std::size_t distance = 1; distance < below && self + distance < n; distance *= 2) {
    children.push_back(members[self + distance]);
    const auto part = hearFrom(phase, children.back(), tag, bytesOf(std::min(distance, n - self - distance)));
    all.insert(all.end(), part.begin(), part.end());
  }
  if (self > 0) {
    const int parent = members[self - below];
    tell(parent, tag, all);
    if (hears == Hears::kFirst) {
      await(phase, parent, [&] { return links_.sent(parent); });
      return {};
    }
    all = hearFrom(phase, parent, tag, bytesOf(n));
  }
  if (hears == Hears::kFirst) return all;
  std::reverse(children.begin(), children.end());  // those with most below them first
  for (const int child : children) tell(child, tag, all);
  for (const int child : children) await(phase, child, [&] { return links_.sent(child); });
  return all;
}

void Bootstrap::gatherBlocks(std::span<const int> members, std::span<std::byte> all, std::size_t blockBytes,
                             const char* what) {
  const auto mine = all.subspan(indexAmong(members) * blockBytes, blockBytes);
  const auto heard = gather({what, members, Deadline::after(timeout_)}, mine, blockBytes);
  std::copy(heard.begin(), heard.end(), all.begin());
}

// Each says how many bytes it has to say, then says them.
std::vector<std::byte> Bootstrap::gatherSpeeches(const Phase& phase, std::span<const std::byte> mine,
                                                 std::size_t limit, Hears hears) {
  if (mine.size() > limit)
    throw Error(ResultCode::kInternalError, "rank {} wants to tell {} bytes in {}; at most {} are allowed",
                rank_, mine.size(), phase.what, limit);
  return gather(phase, blockOf(mine), kAnyBytes, hears);
}

std::vector<std::vector<std::byte>> Bootstrap::allGatherBytesAmong(std::span<const int> members,
                                                                   std::span<const std::byte> mine,
                                                                   std::size_t limit, const char* what) {
  const Phase phase{what, members, Deadline::after(timeout_)};
  return blocksOf(gatherSpeeches(phase, mine, limit, Hears::kEverybody), members, limit, what);
}

std::vector<std::vector<std::byte>> Bootstrap::gatherBytesAmong(std::span<const int> members,
                                                                std::span<const std::byte> mine,
                                                                std::size_t limit, const char* what) {
  const Phase phase{what, members, Deadline::after(timeout_)};
  const auto heard = gatherSpeeches(phase, mine, limit, Hears::kFirst);
  return rank_ == members.front() ? blocksOf(heard, members, limit, what)
                                  : std::vector<std::vector<std::byte>>{};
}

// The first gather of all, where each rank knows where the next one listens and nobody else: the block of r
// is the address of r + 1. Each asks the rank 1, 2, 4, ... places on, and so doubles what it knows with every
// step (the dissemination of Bruck and others, 1997); what it hears ends with the address of the rank that
// comes to be asked next.
void Bootstrap::learnAddresses(const Phase& phase) {
  const auto n = everyone_.size();
  if (n == 1) return;
  const auto self = static_cast<std::size_t>(rank_);
  std::vector<WireAddress> after(n);  // after[i]: where rank self + 1 + i listens
  after[0] = links_.addressOf(nextRank()).toWire();
  after[n - 1] = links_.address().toWire();
  const auto ranksOn = [&](std::size_t distance) { return static_cast<int>((self + distance) % n); };
  const auto bytesOf = [&](std::size_t first, std::size_t count) {
    return std::as_writable_bytes(std::span(after).subspan(first, count));
  };
  const std::uint64_t tag = ++calls_[0];
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    const int from = ranksOn(distance);
    const int to = ranksOn(n - distance);
    links_.know(from, SocketAddress::fromWire(after[distance - 1]));
    if (!links_.linked(from)) links_.call(from);
    const std::size_t count = std::min(distance, n - distance);
    tell(to, tag, bytesOf(0, count));
    const auto heard = hearFrom(phase, from, tag, bytesOf(distance, count).size());
    std::copy(heard.begin(), heard.end(), bytesOf(distance, count).begin());
    await(phase, to, [&] { return links_.sent(to); });
  }
  for (std::size_t i = 0; i + 1 < n; ++i) links_.know(ranksOn(i + 1), SocketAddress::fromWire(after[i]));
}

}  // namespace xylem
