#include "runtime/transport/session/peer_session.h"

#include <poll.h>

#include <utility>

#include "core/error.h"

namespace xylem::transport {
namespace {

// How long the farewell may take to go into the connection.
constexpr std::chrono::milliseconds kFarewellTime{100};
// More messages that no channel has taken are a mistake of the peer.
constexpr std::size_t kMaxUnread = 4096;

// Channels are numbered by their use, and by how many were opened for it before.
constexpr std::uint32_t kUses = 256;

std::uint32_t useNumber(const ChannelUse& use) {
  return (use.purpose << 2 | static_cast<std::uint32_t>(use.kind)) % kUses;
}

}  // namespace

PeerSession::PeerSession(int rank, int peer, std::unique_ptr<SessionConnections> connections)
    : rank_(rank), peer_(peer), connections_(std::move(connections)), regions_(peer) {
  if (rank == peer) throw Error(ResultCode::kInternalError, "rank {} cannot connect to itself", rank);
}

PeerSession::PeerSession(int rank, int peer, std::unique_ptr<MessageStream> stream)
    : rank_(rank), peer_(peer), regions_(peer), state_(State::kOpen), stream_(std::move(stream)) {}

PeerSession::~PeerSession() {
  if (!stream_) return;
  try {
    if (state_ == State::kOpen && !abort_) stream_->queue({.kind = PeerMessage::kBye});
    flushWithin(Deadline::after(kFarewellTime));
    receive();  // TCP resets a connection that is closed with unread bytes, and the peer may lose the farewell
  } catch (const std::exception&) {
    // The peer sees that the connection ends.
  }
  stream_->endWriting();
}

bool PeerSession::advance() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kMeeting) meet();
  return state_ != State::kMeeting;
}

void PeerSession::meet() {
  if (lower()) {
    if (!connector_) {
      if (auto stream = connections_->accept()) return open(std::move(stream));
      connector_ = connections_->connect();
    }
    if (auto stream = connector_->advance()) open(std::move(stream));
    return;
  }
  if (auto stream = connections_->accept()) accepted_ = std::move(stream);
  if (!accepted_ && !connected_ && patience_.passed()) {
    if (!connector_) connector_ = connections_->connect();
    connected_ = connector_->advance();
  }
  for (std::unique_ptr<MessageStream>* candidate : {&accepted_, &connected_}) {
    if (*candidate && state_ == State::kMeeting) choose(*candidate);
  }
}

// The higher rank: opens the session if the lower rank has begun it on this connection. Throws if that rank
// gives up or leaves.
void PeerSession::choose(std::unique_ptr<MessageStream>& candidate) {
  PeerMessage message;
  const MessageStream::Read read = candidate->read(message);
  if (read == MessageStream::Read::kNothing) return;
  if (read == MessageStream::Read::kMessage && message.kind == PeerMessage::kBegin)
    return open(std::move(candidate));
  const bool aborted = read == MessageStream::Read::kMessage && message.kind == PeerMessage::kAbort;
  if (aborted)
    hear(std::move(message));
  else
    lose({});
  if (aborted)
    throw Error(ResultCode::kRemoteError, "rank {} gave up while it was to connect: {}", peer_, end_.text);
  throw Error(ResultCode::kRemoteError, "rank {} is gone ({}): it left before it was connected", peer_,
              howGone(newsNow()));
}

void PeerSession::open(std::unique_ptr<MessageStream> stream) {
  stream_ = std::move(stream);
  connector_.reset();
  accepted_.reset();
  connected_.reset();
  state_ = State::kOpen;
  if (lower()) stream_->queue({.kind = PeerMessage::kBegin});
  if (abort_) stream_->queue(*abort_);
}

int PeerSession::waitsFor() const {
  const std::lock_guard lock(mutex_);
  if (stream_) return stream_->fd();
  // The higher rank: the lower one begins on this connection, unless it was connecting itself already.
  if (accepted_) return accepted_->fd();
  if (connected_) return connected_->fd();
  if (connector_) return connector_->waitsFor();
  return lower() ? -1 : connections_->waitsFor();
}

int PeerSession::socket() const {
  const std::lock_guard lock(mutex_);
  return stream_ ? stream_->fd() : -1;
}

PeerNews PeerSession::news() {
  const std::lock_guard lock(mutex_);
  receive();
  return newsNow();
}

PeerNews PeerSession::newsNow() const {
  PeerNews news = end_;
  news.state = state_ == State::kAborted  ? PeerState::kAborted
               : state_ == State::kClosed ? PeerState::kClosed
               : state_ == State::kLost   ? PeerState::kLost
                                          : PeerState::kThere;
  return news;
}

// Reads and handles all messages that have arrived.
void PeerSession::receive() {
  if (state_ != State::kOpen) return;
  if (!stream_->flushed()) stream_->flush();
  while (state_ == State::kOpen) {
    PeerMessage message;
    MessageStream::Read read{};
    try {
      read = stream_->read(message);
    } catch (const Error& error) {
      return lose(error.what());
    }
    if (read == MessageStream::Read::kNothing) return;
    if (read == MessageStream::Read::kClosed) return lose({});
    hear(std::move(message));
  }
}

void PeerSession::hear(PeerMessage message) {
  // The peer knows which connection is the session: it no longer needs a connection of its own.
  if (!std::exchange(heard_, true) && lower() && connections_) connections_->accept();
  if (state_ == State::kOpen) connections_.reset();
  switch (message.kind) {
    case PeerMessage::kOffer:
    case PeerMessage::kConfirm:
    case PeerMessage::kClose:
    case PeerMessage::kCancel:
      keep(std::move(message));
      break;
    case PeerMessage::kRegion: {
      if (!message.fd)
        throw Error(ResultCode::kSystemError, "cannot take over memory of rank {}: {}", peer_,
                    errnoText(EMFILE));
      const auto note = valueOf<RegionNote>(message.body);
      regions_.map(note.region, std::move(message.fd), note.bytes);
      break;
    }
    case PeerMessage::kAsk:
      stream_->queue({.kind = PeerMessage::kAnswer});
      break;
    case PeerMessage::kAnswer:
      answered_ = true;
      break;
    case PeerMessage::kAbort:
      state_ = State::kAborted;
      end_.failedRank = message.rank;
      end_.text = message.text();
      break;
    case PeerMessage::kBye:
      state_ = State::kClosed;
      break;
    case PeerMessage::kLeft:
      left_ = true;
      break;
    case PeerMessage::kBegin:
      break;
  }
}

// Keeps a message for its channel, which this rank may open later.
void PeerSession::keep(PeerMessage message) {
  Channel& channel = channels_[message.channel];
  if (message.kind == PeerMessage::kClose)
    channel.farewell = std::move(message.body);
  else if (message.kind == PeerMessage::kCancel)
    channel.cancelled = true;
  const bool over = channel.farewell || channel.cancelled;
  if (channel.closedHere) {
    if (over) channels_.erase(message.channel);
  } else if (!over) {
    if (++unread_ > kMaxUnread) return lose("it sends messages that no connection takes");
    channel.inbox.push_back(std::move(message));
  }
}

void PeerSession::lose(std::string how) {
  state_ = State::kLost;
  end_.how = std::move(how);
}

void PeerSession::tellAbort(int failedRank, std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  if (abort_) return;
  try {
    abort_ = abortMessage(failedRank, text);
    for (MessageStream* stream : {stream_.get(), accepted_.get(), connected_.get()})
      if (stream != nullptr) stream->queue(*abort_);
  } catch (const std::exception&) {
    // Out of memory: the peer sees that the connection closes.
  }
}

bool PeerSession::toldAbort() const {
  const std::lock_guard lock(mutex_);
  return abort_.has_value();
}

void PeerSession::flushWithin(const Deadline& deadline) noexcept {
  for (;;) {
    pollfd ready{-1, POLLOUT, 0};
    {
      const std::lock_guard lock(mutex_);
      if (!stream_ || !stream_->flush() || stream_->flushed() || deadline.passed()) return;
      ready.fd = stream_->fd();
    }
    poll(&ready, 1, deadline.pollMilliseconds());
  }
}

void PeerSession::tellLeft() noexcept {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen || abort_) return;
  try {
    stream_->queue({.kind = PeerMessage::kLeft});
    stream_->flush();
  } catch (const std::exception&) {
    // Out of memory: the peer learns it when the session ends.
  }
}

void PeerSession::letOutlive(std::uint32_t channel) {
  const std::lock_guard lock(mutex_);
  channels_[channel].outlives = true;
}

bool PeerSession::ask() noexcept {
  const std::lock_guard lock(mutex_);
  asked_ = answered_ = false;
  if (state_ != State::kOpen) return false;
  try {
    stream_->queue({.kind = PeerMessage::kAsk});
  } catch (const std::exception&) {
    return false;  // out of memory
  }
  return asked_ = true;
}

bool PeerSession::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

bool PeerSession::answered() const {
  const std::lock_guard lock(mutex_);
  return answered_;
}

bool PeerSession::sendRegion(std::uint32_t region) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << region;
  if ((sentRegions_.load(std::memory_order_acquire) & bit) != 0) return true;
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen) return false;
  try {
    if ((queuedRegions_ & bit) == 0) {
      PeerMessage message{.kind = PeerMessage::kRegion};
      message.body = bodyOf(RegionNote{ShareableMemory::bytes(region), region, 0});
      stream_->queue(message, ShareableMemory::fd(region));
      queuedRegions_ |= bit;
    }
  } catch (const std::exception&) {
    return false;  // out of memory, or of descriptors
  }
  // The peer may look for the region once this rank refers to it, so it must have it before.
  if (!stream_->flush() || !stream_->flushed()) return false;
  sentRegions_.fetch_or(bit, std::memory_order_release);
  return true;
}

std::byte* PeerSession::place(std::uint32_t region, std::uint64_t offset, std::size_t bytes) {
  if (!regions_.known(region)) {
    const std::lock_guard lock(mutex_);
    receive();
  }
  return regions_.at(region, offset, bytes);
}

std::uint32_t PeerSession::openChannel(const ChannelUse& use) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = useNumber(use);
  return number + kUses * opened_[number]++;
}

// Returns false if the peer is gone.
bool PeerSession::send(const PeerMessage& message, int fd) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kOpen) return false;
  stream_->queue(message, fd);
  return stream_->flush();
}

std::optional<PeerMessage> PeerSession::take(std::uint32_t channel) {
  const std::lock_guard lock(mutex_);
  receive();
  const auto found = channels_.find(channel);
  if (found == channels_.end() || found->second.inbox.empty()) return std::nullopt;
  PeerMessage message = std::move(found->second.inbox.front());
  found->second.inbox.pop_front();
  --unread_;
  return message;
}

bool PeerSession::hasMessage(std::uint32_t channel) const {
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(channel);
  return found != channels_.end() && !found->second.inbox.empty();
}

PeerNews PeerSession::newsOf(std::uint32_t channel) {
  const std::lock_guard lock(mutex_);
  receive();
  PeerNews news = newsNow();
  if (news.state == PeerState::kAborted) return news;
  const auto found = channels_.find(channel);
  const bool known = found != channels_.end();
  if (known && found->second.farewell) return {.state = PeerState::kClosed};
  if (known && found->second.cancelled)
    news = {.state = PeerState::kLost, .how = "it gave up the connection"};
  const bool goesOn = known && (found->second.outlives || !found->second.inbox.empty());
  if (left_ && !goesOn && news.state == PeerState::kThere) news.state = PeerState::kClosed;
  return news;
}

std::vector<std::byte> PeerSession::farewellOf(std::uint32_t channel) const {
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(channel);
  return found == channels_.end() ? std::vector<std::byte>{}
                                  : found->second.farewell.value_or(std::vector<std::byte>{});
}

void PeerSession::closeChannel(PeerMessage last) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (state_ == State::kOpen && !abort_) stream_->queue(last);
    Channel& channel = channels_[last.channel];
    unread_ -= channel.inbox.size();
    channel.inbox.clear();
    channel.closedHere = true;
    if (channel.farewell || channel.cancelled) channels_.erase(last.channel);
  } catch (const std::exception&) {
    // Out of memory: the peer learns it when the session ends.
  }
}

std::string howGone(const PeerNews& news) {
  if (news.state == PeerState::kClosed) return "it destroyed its communicator";
  return news.how.empty() ? "its process ended or cannot be reached" : news.how;
}

SessionChannel::~SessionChannel() {
  if (!closed_) session_->closeChannel({.kind = PeerMessage::kCancel, .channel = number_});
}

void SessionChannel::send(PeerMessage::Kind kind, std::vector<std::byte> body, int fd) {
  const PeerMessage message{.kind = kind, .channel = number_, .rank = -1, .body = std::move(body), .fd = {}};
  if (!session_->send(message, fd)) throwEnded();
}

std::optional<PeerMessage> SessionChannel::take() {
  std::optional<PeerMessage> message = session_->take(number_);
  if (!message && news().state != PeerState::kThere && !hasMessage()) throwEnded();
  return message;
}

void SessionChannel::throwEnded() {
  const PeerNews news = this->news();
  if (news.state == PeerState::kAborted)
    throw Error(ResultCode::kRemoteError, "rank {} gave up while connecting: {}", peer(), news.text);
  throw Error(ResultCode::kRemoteError, "rank {} is gone ({}): it left before it was connected", peer(),
              howGone(news));
}

void SessionChannel::close(std::vector<std::byte> body) noexcept {
  closed_ = true;
  session_->closeChannel(
      {.kind = PeerMessage::kClose, .channel = number_, .rank = -1, .body = std::move(body), .fd = {}});
}

}  // namespace xylem::transport
