#include "transport/shm.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "transport/shm_connection.h"

namespace xylem {
namespace {

constexpr std::size_t kSlotGranularity = 128;
// How often the rest of the world is looked at while waiting for peers.
constexpr int kLookMilliseconds = 20;

std::size_t slotBytesOf(std::size_t bufferBytes) {
  const std::size_t slot = std::max<std::size_t>(bufferBytes / kFifoSlots, 1);
  return (slot + kSlotGranularity - 1) / kSlotGranularity * kSlotGranularity;
}

LocalName nameIn(const TransportAddress& address) {
  LocalName name;
  std::memcpy(name.data(), address.data(), name.size());
  return name;
}

// Connects the ranks of one host in pairs: the lower rank calls, the higher one answers, so nobody waits in a
// circle.
class PairMaker {
 public:
  PairMaker(int rank, std::span<const ConnectionRequest> requests, std::span<const Peer> peers,
            const Waiting& waiting)
      : rank_(rank), requests_(requests), peers_(peers), waiting_(waiting), sockets_(requests.size()) {}

  void callHigher() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].peer < rank_) continue;
      const LocalName name = nameIn(peers_[static_cast<std::size_t>(requests_[i].peer)].shm);
      try {
        while (!(sockets_[i] = connectLocal(name))) pauseFor({});
      } catch (const Error& error) {
        throw Error(error.code(), "cannot connect to rank {}: {}", requests_[i].peer, error.what());
      }
      ShmMessage hello;
      hello.kind = ShmMessage::kHello;
      hello.rank = rank_;
      sendMessage(sockets_[i].get(), &hello, sizeof hello);
    }
  }

  void answerLower(const LocalListener& listener) {
    std::vector<FileDescriptor> strangers;  // connected, but have not said who they are
    while (!missingLower().empty()) {
      if (FileDescriptor fd = listener.accept()) strangers.push_back(std::move(fd));
      std::erase_if(strangers, [this](FileDescriptor& fd) { return introduced(fd); });
      if (missingLower().empty()) break;
      std::vector<pollfd> fds{{listener.fd(), POLLIN, 0}};
      for (const FileDescriptor& fd : strangers) fds.push_back({fd.get(), POLLIN, 0});
      pauseFor(fds);
    }
  }

  void pauseFor(std::vector<pollfd> fds) {
    if (waiting_.look) waiting_.look();
    if (waiting_.deadline.passed())
      throw Error(ResultCode::kRemoteError, "timed out connecting shared memory; waiting for ranks {}",
                  missingText());
    poll(fds.data(), fds.size(), waiting_.deadline.pollMilliseconds(kLookMilliseconds));
  }

  FileDescriptor take(std::size_t i) { return std::move(sockets_[i]); }

 private:
  // True if nothing more is to be expected of this stranger: it is one of ours, or it talks nonsense.
  bool introduced(FileDescriptor& fd) {
    ShmMessage hello;
    const std::optional<ReceivedMessage> received = receiveMessage(fd.get(), &hello, sizeof hello);
    if (!received) return false;
    if (received->bytes != sizeof hello || hello.kind != ShmMessage::kHello) return true;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i].peer == hello.rank && hello.rank < rank_ && !sockets_[i]) sockets_[i] = std::move(fd);
    return true;
  }

  std::vector<int> missingLower() const {
    std::vector<int> missing;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i].peer < rank_ && !sockets_[i]) missing.push_back(requests_[i].peer);
    return missing;
  }
  std::string missingText() const {
    std::string text;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (!sockets_[i]) text += (text.empty() ? "" : ", ") + std::to_string(requests_[i].peer);
    return text;
  }

  int rank_;
  std::span<const ConnectionRequest> requests_;
  std::span<const Peer> peers_;
  const Waiting& waiting_;
  std::vector<FileDescriptor> sockets_;
};

}  // namespace

ShmTransport::ShmTransport(int rank, std::size_t bufferBytes)
    : rank_(rank), slotBytes_(slotBytesOf(bufferBytes)) {}

Viability ShmTransport::isViable(const Peer& self, const Peer& other) const {
  if (self.hostHash == other.hostHash) return {true, "same host"};
  return {false, "rank " + std::to_string(other.rank) + " is on another host"};
}

TransportAddress ShmTransport::listen() {
  listener_.emplace();
  TransportAddress address{};
  static_assert(sizeof(LocalName) <= sizeof(TransportAddress));
  std::memcpy(address.data(), listener_->name().data(), listener_->name().size());
  return address;
}

std::vector<std::unique_ptr<Connection>> ShmTransport::connect(std::span<const ConnectionRequest> requests,
                                                               std::span<const Peer> peers,
                                                               const Waiting& waiting) {
  PairMaker pairs(rank_, requests, peers, waiting);
  pairs.callHigher();
  pairs.answerLower(*listener_);

  std::vector<std::unique_ptr<ShmConnection>> made;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    made.push_back(std::make_unique<ShmConnection>(requests[i], pairs.take(i), slotBytes_));
    made.back()->offerMemory();
  }
  for (const auto& connection : made) {
    while (!connection->complete()) {
      if (waiting.deadline.passed())
        throw Error(ResultCode::kRemoteError, "timed out waiting for the shared memory of rank {}",
                    connection->peer());
      if (waiting.look) waiting.look();
      pollfd fd{connection->socket(), POLLIN, 0};
      poll(&fd, 1, waiting.deadline.pollMilliseconds(kLookMilliseconds));
    }
  }
  listener_.reset();
  std::vector<std::unique_ptr<Connection>> connections;
  for (auto& connection : made) connections.push_back(std::move(connection));
  return connections;
}

}  // namespace xylem
