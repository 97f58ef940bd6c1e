#include "runtime/transport/local/local_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/address_space.h"

namespace xylem::transport {
namespace {

// Spreads the mappings of different peers over the address colours.
std::size_t colourOf(int rank) { return 1 + static_cast<std::size_t>(rank) % (kColours - 1); }

}  // namespace

void MappedRegions::map(std::uint32_t region, FileDescriptor fd, std::size_t bytes) {
  if (region >= mappings_.size() || known(region)) return;
  Mapping& mapping = mappings_[region];
  mapping.memory = SharedMemory::open(std::move(fd), bytes, colourOf(owner_));
  mapping.memory.closeFd();
  mapping.mapped.store(true, std::memory_order_release);
}

bool MappedRegions::known(std::uint32_t region) const {
  return region < mappings_.size() && mappings_[region].mapped.load(std::memory_order_acquire);
}

std::byte* MappedRegions::at(std::uint32_t region, std::uint64_t offset, std::size_t bytes) const {
  if (!known(region)) return nullptr;
  const SharedMemory& memory = mappings_[region].memory;
  if (offset > memory.size() || bytes > memory.size() - offset) return nullptr;
  return memory.data() + offset;
}

bool LocalLink::sendRegion(std::uint32_t region) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << region;
  if ((sentRegions_.load(std::memory_order_acquire) & bit) != 0) return true;
  LocalMessage message;
  message.kind = LocalMessage::kRegion;
  message.region = region;
  message.bytes = ShareableMemory::bytes(region);
  // Two threads may send it at once; the peer ignores the second message.
  if (!send(message, ShareableMemory::fd(region))) return false;
  sentRegions_.fetch_or(bit, std::memory_order_release);
  return true;
}

std::byte* LocalLink::place(std::uint32_t region, std::uint64_t offset, std::size_t bytes) {
  if (!regions_.known(region)) {
    const std::lock_guard lock(mutex_);
    receive();
  }
  return regions_.at(region, offset, bytes);
}

PeerNews LocalLink::news() {
  const std::lock_guard lock(mutex_);
  receive();
  return news_;
}

void LocalLink::receive() {
  while (news_.state == PeerState::kThere) {
    LocalMessage message;
    std::optional<ReceivedMessage> received = receiveMessage(socket_.get(), &message, sizeof message);
    if (!received) return;
    if (received->bytes != sizeof message)
      news_.state = PeerState::kLost;
    else
      handle(message, std::move(received->fd));
  }
}

void LocalLink::handle(const LocalMessage& message, FileDescriptor fd) {
  switch (message.kind) {
    case LocalMessage::kRegion:
      if (!fd)
        throw Error(ResultCode::kSystemError,
                    "cannot take over memory of rank {}: are too many files open (ulimit -n)?", peer_);
      regions_.map(message.region, std::move(fd), message.bytes);
      break;
    case LocalMessage::kBye:
      news_.state = PeerState::kClosed;
      break;
    case LocalMessage::kAbort:
      news_.state = PeerState::kAborted;
      news_.failedRank = message.rank;
      news_.text = textOf(message);
      break;
    default:
      break;
  }
}

void LocalLink::sendBye() noexcept {
  LocalMessage message;
  message.kind = LocalMessage::kBye;
  send(message);
}

LocalMessage LocalLink::abortMessage(int failedRank, std::string_view text) noexcept {
  LocalMessage message;
  message.kind = LocalMessage::kAbort;
  message.rank = failedRank;
  message.textBytes = static_cast<std::uint32_t>(std::min(text.size(), sizeof message.text));
  if (message.textBytes > 0) std::memcpy(message.text, text.data(), message.textBytes);
  return message;
}

void LocalLink::sendAbort(int failedRank, std::string_view text) noexcept {
  send(abortMessage(failedRank, text));
}

std::string_view LocalLink::textOf(const LocalMessage& message) {
  return {message.text, std::min<std::size_t>(message.textBytes, sizeof message.text)};
}

}  // namespace xylem::transport
