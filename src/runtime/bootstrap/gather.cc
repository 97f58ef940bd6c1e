// All-gathers and gathers among a group of ranks, along a binomial tree: each rank appends the data of the
// ranks below it to its own and sends it up; the root sends the whole back down, except in a gather. Where
// ranks share cores, the time depends on the number of messages, and the tree takes only two per rank. It
// takes at most twice log2(n) steps. The parent of every second rank is the rank before it, to which it is
// connected anyway.

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/gathered.h"

namespace xylem::bootstrap {

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
  if (std::equal(members.begin(), members.end(), allRanks_.begin(), allRanks_.end())) return 0;
  std::uint8_t digest[16];
  sockets::hash(digest, sizeof digest, members.data(), members.size_bytes());
  std::uint64_t group = 0;
  std::memcpy(&group, digest, sizeof group);
  return group;
}

void Bootstrap::sendPart(int peer, std::uint64_t tag, std::span<const std::byte> bytes) {
  if (links_.knows(peer) && !links_.linked(peer)) links_.call(peer);
  links_.send(peer, sockets::FrameKind::kData, tag, bytes);
}

// `bytes`: the expected size, or kAnyBytes.
std::vector<std::byte> Bootstrap::receivePart(const Phase& phase, int peer, std::uint64_t tag,
                                              std::size_t bytes) {
  sockets::Frame frame;
  await(phase, peer, [&] { return links_.take(peer, sockets::FrameKind::kData, tag, frame); });
  if (bytes != kAnyBytes && frame.payload.size() != bytes) {
    // The peer may have given up and be in another call: its reason says more than the wrong size.
    links_.step(0, {});
    throwIfOver();
    throw Error(
        ResultCode::kRemoteError,
        "rank {} sent {} bytes in {} where {} are expected: is it the same version, in the same phase?", peer,
        frame.payload.size(), phase.what, bytes);
  }
  return std::move(frame.payload);
}

// Returns the data of all members in their order; nothing for members that do not receive it. Each member
// gives `each` bytes, or any number (kAnyBytes).
std::vector<std::byte> Bootstrap::gather(const Phase& phase, std::span<const std::byte> mine,
                                         std::size_t each, Receivers receivers) {
  const std::span<const int> members = phase.members;
  const std::size_t n = members.size();
  const std::size_t self = indexAmong(members);
  const std::uint64_t group = groupOf(members);
  const std::uint64_t tag = group + ++calls_[group];
  throwIfOver();
  const auto bytesOf = [each](std::size_t count) { return each == kAnyBytes ? kAnyBytes : count * each; };
  // The subtree of a rank has as many members as its lowest bit says (if there are so many), itself the
  // first.
  const std::size_t below = self == 0 ? std::bit_ceil(n) : self & (~self + 1);
  std::vector<std::byte> all(mine.begin(), mine.end());
  std::vector<int> children;
  for (std::size_t distance = 1; distance < below && self + distance < n; distance *= 2) {
    children.push_back(members[self + distance]);
    const auto part =
        receivePart(phase, children.back(), tag, bytesOf(std::min(distance, n - self - distance)));
    all.insert(all.end(), part.begin(), part.end());
  }
  if (self > 0) {
    const int parent = members[self - below];
    sendPart(parent, tag, all);
    if (receivers == Receivers::kFirst) {
      await(phase, parent, [&] { return links_.sent(parent); });
      return {};
    }
    all = receivePart(phase, parent, tag, bytesOf(n));
  }
  if (receivers == Receivers::kFirst) return all;
  std::reverse(children.begin(), children.end());  // those with the largest subtrees first
  for (const int child : children) sendPart(child, tag, all);
  for (const int child : children) await(phase, child, [&] { return links_.sent(child); });
  return all;
}

void Bootstrap::gatherBlocks(std::span<const int> members, std::span<std::byte> all, std::size_t blockBytes,
                             const char* what) {
  const auto mine = all.subspan(indexAmong(members) * blockBytes, blockBytes);
  const auto received = gather({what, members, Deadline::after(timeout_)}, mine, blockBytes);
  std::copy(received.begin(), received.end(), all.begin());
}

std::vector<std::byte> Bootstrap::gatherAnyBytes(const Phase& phase, std::span<const std::byte> mine,
                                                 std::size_t limit, Receivers receivers) {
  if (mine.size() > limit)
    throw Error(ResultCode::kInternalError, "rank {} wants to tell {} bytes in {}; at most {} are allowed",
                rank_, mine.size(), phase.what, limit);
  return gather(phase, blockOf(mine), kAnyBytes, receivers);
}

std::vector<std::vector<std::byte>> Bootstrap::allGatherBytesAmong(std::span<const int> members,
                                                                   std::span<const std::byte> mine,
                                                                   std::size_t limit, const char* what) {
  const Phase phase{what, members, Deadline::after(timeout_)};
  return blocksOf(gatherAnyBytes(phase, mine, limit, Receivers::kAll), members, limit, what);
}

std::vector<std::vector<std::byte>> Bootstrap::gatherBytesAmong(std::span<const int> members,
                                                                std::span<const std::byte> mine,
                                                                std::size_t limit, const char* what) {
  const Phase phase{what, members, Deadline::after(timeout_)};
  const auto received = gatherAnyBytes(phase, mine, limit, Receivers::kFirst);
  return rank_ == members.front() ? blocksOf(received, members, limit, what)
                                  : std::vector<std::vector<std::byte>>{};
}

// An all-gather of addresses where each rank knows only the address of the next rank: in the words of the
// dissemination algorithm (Bruck and others, 1997) the block of rank r is the address of rank r + 1. In step
// k each rank receives from the rank 2^k further on, which doubles the number of blocks that it has. The last
// block of each step is the address of the rank to receive from in the next one.
void Bootstrap::learnAddresses(const Phase& phase) {
  const auto n = allRanks_.size();
  if (n == 1) return;
  const auto self = static_cast<std::size_t>(rank_);
  std::vector<sockets::WireAddress> after(n);  // after[i]: the address of rank self + 1 + i
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
    links_.know(from, sockets::SocketAddress::fromWire(after[distance - 1]));
    if (!links_.linked(from)) links_.call(from);
    const std::size_t count = std::min(distance, n - distance);
    sendPart(to, tag, bytesOf(0, count));
    const auto received = receivePart(phase, from, tag, bytesOf(distance, count).size());
    std::copy(received.begin(), received.end(), bytesOf(distance, count).begin());
    await(phase, to, [&] { return links_.sent(to); });
  }
  for (std::size_t i = 0; i + 1 < n; ++i)
    links_.know(ranksOn(i + 1), sockets::SocketAddress::fromWire(after[i]));
}

}  // namespace xylem::bootstrap
