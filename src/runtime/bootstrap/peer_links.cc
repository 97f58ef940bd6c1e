#include "runtime/bootstrap/peer_links.h"

#include <algorithm>

#include "core/error.h"

namespace xylem::bootstrap {
namespace {

// How long a rank that gives up waits for pending connections to finish their handshake, which takes a round
// trip.
constexpr std::chrono::milliseconds kPendingTime{20};
constexpr std::size_t kMaxInboxBytes = std::size_t{256} << 20;

sockets::SocketAddress anyPort(sockets::SocketAddress address) {
  address.setPort(0);
  return address;
}

}  // namespace

PeerLinks::PeerLinks(int rank, int ranks, const sockets::SocketAddress& interface,
                     const sockets::Secret& secret, const Logger& log)
    : rank_(rank),
      ranks_(ranks),
      interface_(anyPort(interface)),
      secret_(secret),
      log_(log),
      acceptor_(interface_, secret, log) {}

const PeerLinks::Link* PeerLinks::find(int peer) const {
  const auto found = links_.find(peer);
  return found == links_.end() ? nullptr : &found->second;
}

void PeerLinks::call(int peer) {
  Link& link = links_[peer];
  if (link.connector || link.called.open() || link.gone) return;
  sockets::Hello hello;
  hello.purpose = sockets::Purpose::kRing;
  hello.rank = rank_;
  hello.ranks = ranks_;
  link.connector.emplace(addresses_.at(peer), &interface_, secret_, hello);
  link.gone = link.connector->refused();
}

bool PeerLinks::called(int peer) const {
  const Link* link = find(peer);
  return link != nullptr && link->called.open();
}

bool PeerLinks::accepted(int peer) const {
  const Link* link = find(peer);
  return link != nullptr && link->accepted.open();
}

bool PeerLinks::linked(int peer) const {
  const Link* link = find(peer);
  return link != nullptr && (link->connector || link->called.open() || link->accepted.open());
}

bool PeerLinks::gone(int peer) const {
  const Link* link = find(peer);
  return link != nullptr && link->gone;
}

void PeerLinks::send(int peer, sockets::FrameKind kind, std::uint64_t tag,
                     std::span<const std::byte> payload) {
  if (payload.size() > kMaxFrameBytes)
    throw Error(ResultCode::kInvalidUsage,
                "rank {} wants to send {} bytes to rank {} at once; at most {} fit", rank_, payload.size(),
                peer, kMaxFrameBytes);
  Link& link = links_[peer];
  opened(peer, link);
  if (link.out == nullptr) {
    link.unsent.push_back({kind, tag, {payload.begin(), payload.end()}});
    return;
  }
  link.out->queue(kind, payload, ResultCode::kSuccess, tag);
  if (!link.out->flush()) broken(peer, link, *link.out);
}

void PeerLinks::keep(sockets::FrameKind kind, std::uint64_t tag, std::span<const std::byte> payload) {
  sockets::Frame frame;
  frame.header.kind = kind;
  frame.header.tag = tag;
  frame.header.bytes = payload.size();
  frame.payload.assign(payload.begin(), payload.end());
  Link& link = links_[rank_];
  link.inboxBytes += payload.size();
  link.inbox.push_back(std::move(frame));
}

// Chooses the connection to send over once there is one, and sends the frames that waited for it.
void PeerLinks::opened(int peer, Link& link) {
  if (link.out == nullptr)
    link.out = link.accepted.open() ? &link.accepted : link.called.open() ? &link.called : nullptr;
  if (link.out == nullptr || link.unsent.empty()) return;
  for (const Unsent& unsent : link.unsent)
    link.out->queue(unsent.kind, unsent.payload, ResultCode::kSuccess, unsent.tag);
  link.unsent.clear();
  if (!link.out->flush()) broken(peer, link, *link.out);
}

bool PeerLinks::sent(int peer) const {
  const Link* link = find(peer);
  return link == nullptr || (link->unsent.empty() && (link->out == nullptr || link->out->flushed()));
}

bool PeerLinks::take(int peer, sockets::FrameKind kind, std::uint64_t tag, sockets::Frame& frame) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return false;
  auto& [_, link] = *found;
  const auto first = std::find_if(link.inbox.begin(), link.inbox.end(), [&](const sockets::Frame& f) {
    return f.header.kind == kind && f.header.tag == tag;
  });
  if (first == link.inbox.end()) return false;
  frame = std::move(*first);
  link.inbox.erase(first);
  link.inboxBytes -= frame.payload.size();
  return true;
}

void PeerLinks::add(sockets::Accepted accepted) {
  const sockets::Hello& hello = accepted.hello;
  if (hello.purpose == sockets::Purpose::kRing && hello.rank >= 0 && hello.rank < ranks_ &&
      hello.ranks == ranks_) {
    Link& link = links_[hello.rank];
    if (!link.accepted.open()) {
      link.accepted = sockets::FrameStream(std::move(accepted.socket));
      link.gone = false;
      return opened(hello.rank, link);
    }
  }
  log_.warn("Bootstrap : rank {} of {} dropped a connection of rank {} of {}", rank_, ranks_, hello.rank,
            hello.ranks);
}

void PeerLinks::advanceConnector(int peer, Link& link) {
  try {
    const bool connected = link.connector->advance();
    if (link.connector->refused()) {
      link.connector.reset();
      link.gone = true;
    } else if (connected) {
      link.called = sockets::FrameStream(link.connector->take());
      link.connector.reset();
      opened(peer, link);
    }
  } catch (const Error& error) {
    link.connector.reset();
    throw Error(error.code(), "rank {} cannot reach rank {}: {}", rank_, peer, error.what());
  }
}

void PeerLinks::lost(Link& link, sockets::FrameStream& stream) {
  stream.close();
  link.gone = link.gone || (!link.called.open() && !link.accepted.open());
}

// A connection that cannot be sent to may still hold the reason.
void PeerLinks::broken(int peer, Link& link, sockets::FrameStream& stream) {
  receive(peer, link, stream);
  if (stream.open()) lost(link, stream);
}

void PeerLinks::receive(int peer, Link& link, sockets::FrameStream& stream) {
  sockets::Frame frame;
  while (link.inboxBytes < kMaxInboxBytes) {
    switch (stream.read(frame, kMaxFrameBytes)) {
      case sockets::FrameStream::Read::kNothing:
        return;
      case sockets::FrameStream::Read::kClosed:
        return lost(link, stream);
      case sockets::FrameStream::Read::kFrame:
        break;
    }
    if (frame.header.kind == sockets::FrameKind::kData || frame.header.kind == sockets::FrameKind::kMessage) {
      link.inboxBytes += frame.payload.size();
      link.inbox.push_back(std::move(frame));
    } else if (onNews) {
      onNews(peer, frame);
    }
  }
}

void PeerLinks::step(int milliseconds, std::span<const pollfd> others) {
  fds_.clear();
  polled_.clear();
  for (auto& [peer, link] : links_) {
    if (link.connector) {
      const pollfd polled = link.connector->polled();
      if (polled.fd < 0) milliseconds = std::min(milliseconds, sockets::Connector::kRetryMilliseconds);
      fds_.push_back(polled);
      polled_.push_back({peer, &link, nullptr});
    }
    for (sockets::FrameStream* stream : {&link.called, &link.accepted}) {
      if (!stream->open()) continue;
      const int wanted = (link.inboxBytes < kMaxInboxBytes ? POLLIN : 0) | (stream->flushed() ? 0 : POLLOUT);
      fds_.push_back({stream->fd(), static_cast<short>(wanted), 0});
      polled_.push_back({peer, &link, stream});
    }
  }
  acceptor_.addTo(fds_);
  fds_.insert(fds_.end(), others.begin(), others.end());
  const int ready = poll(fds_.data(), fds_.size(), milliseconds);
  if (ready < 0) return;
  for (std::size_t i = 0; i < polled_.size(); ++i) {
    const Polled& p = polled_[i];
    if (p.stream == nullptr) {
      if (p.link->connector && (fds_[i].revents != 0 || fds_[i].fd < 0)) advanceConnector(p.peer, *p.link);
      continue;
    }
    if ((fds_[i].revents & POLLOUT) != 0 && p.stream->open() && !p.stream->flush())
      broken(p.peer, *p.link, *p.stream);
    if ((fds_[i].revents & ~POLLOUT) != 0 && p.stream->open()) receive(p.peer, *p.link, *p.stream);
  }
  const bool attempts = std::any_of(fds_.begin() + static_cast<std::ptrdiff_t>(polled_.size()),
                                    fds_.end() - static_cast<std::ptrdiff_t>(others.size()),
                                    [](const pollfd& fd) { return fd.revents != 0; });
  // Without any event the pending connections are moved on, too: silent ones have a deadline.
  if (!attempts && ready > 0) return;
  for (sockets::Accepted& accepted : acceptor_.advance()) add(std::move(accepted));
}

std::vector<int> PeerLinks::peers() const {
  std::vector<int> all;
  for (const auto& [peer, link] : links_)
    if (link.called.open() || link.accepted.open()) all.push_back(peer);
  return all;
}

// Finishes pending connections, so that their ranks, too, receive the reason why this rank gives up.
void PeerLinks::acceptPending() {
  const Deadline end = Deadline::after(kPendingTime);
  for (std::vector<pollfd> fds; !end.passed(); fds.clear()) {
    for (sockets::Accepted& accepted : acceptor_.advance()) add(std::move(accepted));
    if (!acceptor_.busy()) return;
    acceptor_.addTo(fds);
    poll(fds.data(), fds.size(), end.pollMilliseconds());
  }
}

void PeerLinks::close(ResultCode code, std::string_view reason, int milliseconds) noexcept {
  std::vector<sockets::FrameStream*> streams;
  try {
    acceptPending();
    for (auto& [_, link] : links_) {
      link.connector.reset();
      for (sockets::FrameStream* stream : {&link.called, &link.accepted}) {
        if (!stream->open()) continue;
        stream->queueError(code, reason);
        streams.push_back(stream);
      }
    }
  } catch (const std::exception&) {
    // The peers see only that this rank is gone.
  }
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(milliseconds));
  for (sockets::FrameStream* stream : streams) {
    stream->flushWithin(deadline.pollMilliseconds());
    stream->endWriting();
  }
  for (sockets::FrameStream* stream : streams) stream->awaitClose(deadline);
}

}  // namespace xylem::bootstrap
