#include "runtime/transport/net/net_connection.h"

#include <fcntl.h>

#include <algorithm>

#include "runtime/sockets/socket.h"
#include "runtime/transport/net/net_message.h"

namespace xylem::transport {
namespace {

// How long the destructor waits until the network has taken all steps.
constexpr std::chrono::seconds kFlushTime{5};
// How long a goodbye or an abort may take to go into the control connection.
constexpr int kLastMessageMilliseconds = 100;

int deviceOf(int wanted, const Network& network) { return std::max(wanted, 0) % network.deviceCount(); }

}  // namespace

FileDescriptor NetControlListener::take(int rank, std::uint32_t purpose) {
  const std::lock_guard lock(mutex_);
  for (sockets::Accepted& accepted : acceptor_.advance()) {
    if (accepted.hello.purpose == sockets::Purpose::kPair)
      // A rank that connects again has given up its earlier connection.
      waiting_[{accepted.hello.rank, accepted.hello.detail}] = std::move(accepted.socket);
    else
      acceptor_.pendingConnections().drop(accepted, "it is none between two ranks");
  }
  const auto found = waiting_.find({rank, purpose});
  if (found == waiting_.end()) return {};
  FileDescriptor socket = std::move(found->second);
  waiting_.erase(found);
  return socket;
}

void NetControlListener::abort(int failedRank, std::string_view text) {
  const auto say = [failedRank, text = std::string(text.substr(0, sockets::kMaxErrorBytes))](int socket) {
    // Write through a duplicate: the connection may still be taken.
    sockets::FrameStream stream(FileDescriptor(fcntl(socket, F_DUPFD_CLOEXEC, 0)));
    if (!stream.open()) return;
    NetMessage message;
    message.kind = NetMessage::kAbort;
    message.failedRank = failedRank;
    stream.queue(sockets::FrameKind::kData, netMessage<char>(message, text));
    stream.flush();
  };
  const std::lock_guard lock(mutex_);
  acceptor_.pendingConnections().tellAll(say);
  for (const auto& [from, socket] : waiting_) say(socket.get());
}

NetConnection::NetConnection(const ConnectionRequest& request, const sockets::WireAddress& address,
                             std::shared_ptr<NetContext> context)
    : Connection(request.peer), request_(request), context_(std::move(context)) {
  address_ = sockets::SocketAddress::fromWire(address);
  if (address_.linkLocal()) {
    sockets::WireAddress through = address;
    through.scope = context_->listener->address().toWire().scope;
    address_ = sockets::SocketAddress::fromWire(through);
  }
  if (lower()) startCall();
}

void NetConnection::startCall() {
  const sockets::SocketAddress from = context_->listener->address();
  sockets::Hello hello;
  hello.purpose = sockets::Purpose::kPair;
  hello.rank = context_->rank;
  hello.detail = request_.purpose;
  connector_.emplace(address_, &from, context_->secret, hello);
}

NetConnection::~NetConnection() {
  if (phase_ == Phase::kReady && !aborted_) flush();
  for (NetSendQueue& queue : sends_)
    if (queue.pump) context_->engine->remove(*queue.pump);
  for (NetReceiveQueue& queue : receives_)
    if (queue.pump) context_->engine->remove(*queue.pump);
  if (phase_ == Phase::kReady && !aborted_) say(NetMessage::kBye, -1, {});
  control_.endWriting();
}

bool NetConnection::advance() {
  if (phase_ == Phase::kReady) return true;
  const std::lock_guard lock(controlMutex_);
  if (phase_ == Phase::kMeeting && meet()) {
    offer();
    phase_ = Phase::kOffering;
  }
  if (phase_ == Phase::kOffering) {
    control_.flush();
    if (readOffer()) phase_ = Phase::kJoining;
  }
  if (phase_ == Phase::kJoining && join()) {
    if (lower()) context_->listener->take(peer(), request_.purpose);  // drop the peer's status connection
    makeEnds();
    phase_ = Phase::kReady;
  }
  return phase_ == Phase::kReady;
}

// Returns whether the control connection exists.
bool NetConnection::meet() {
  FileDescriptor socket = lower() ? called() : context_->listener->take(peer(), request_.purpose);
  if (!socket) {
    if (!lower() && patience_.passed()) checkByStatusConnection();
    return false;
  }
  connector_.reset();
  statusConnection_.close();
  sockets::breakWhenUnanswered(socket.get(), context_->silence);
  control_ = sockets::FrameStream(std::move(socket));
  return true;
}

// Throws if the lower rank, which has not connected yet, gives up or leaves.
void NetConnection::checkByStatusConnection() {
  if (!statusConnection_.open()) {
    if (!connector_) startCall();
    FileDescriptor socket = called();
    if (!socket) return;
    sockets::breakWhenUnanswered(socket.get(), context_->silence);
    statusConnection_ = sockets::FrameStream(std::move(socket));
  }
  sockets::Frame frame;
  const sockets::FrameStream::Read read = statusConnection_.read(frame, kMaxNetMessageBytes);
  if (read == sockets::FrameStream::Read::kNothing) return;
  if (read == sockets::FrameStream::Read::kFrame) hear(frame);
  throw Error(ResultCode::kRemoteError, "rank {} {} while it was to connect{}{}", peer(),
              last_.state == PeerState::kAborted ? "gave up" : "closed its connections",
              last_.text.empty() ? "" : ": ", last_.text);
}

// Returns whether each send can share a link with the receive of its number.
bool NetConnection::pairsQueues() const {
  for (std::size_t i = 0; i < std::min(request_.sends.size(), request_.receives.size()); ++i) {
    const int device = deviceOf(request_.sends[i], *context_->network);
    if (device != deviceOf(request_.receives[i], *context_->network) ||
        !context_->network->properties(device).bidirectional)
      return false;
  }
  return true;
}

// The connected socket; invalid while it is still connecting.
FileDescriptor NetConnection::called() {
  try {
    if (connector_->advance()) return connector_->take();
  } catch (const Error& error) {
    throw Error(error.code(), "rank {}: {}", peer(), error.what());
  }
  if (connector_->refused())
    throw Error(ResultCode::kRemoteError, "cannot connect to rank {} at {}: nobody listens there any more",
                peer(), address_.text());
  return {};
}

// Listens for the links of the receiving queues and sends the handles of these listeners to the peer.
void NetConnection::offer() {
  std::vector<NetHandle> handles;
  for (const int wanted : request_.receives) {
    const int device = deviceOf(wanted, *context_->network);
    receives_.push_back({device, NetQueueMemory(context_->stepBytes), context_->network->listen(device), {}});
    handles.push_back(receives_.back().listener->handle());
  }
  NetMessage message;
  message.kind = NetMessage::kOffer;
  message.sends = static_cast<std::uint32_t>(request_.sends.size());
  message.receives = static_cast<std::uint32_t>(request_.receives.size());
  message.stepBytes = context_->stepBytes;
  message.pairsQueues = pairsQueues() ? 1 : 0;
  control_.queue(sockets::FrameKind::kData, netMessage<NetHandle>(message, handles));
  offerAddresses();
}

// Sends the addresses over which the peer can monitor whether this host answers.
void NetConnection::offerAddresses() {
  std::vector<sockets::WireAddress> addresses;
  for (const auto* devices : {&request_.receives, &request_.sends})
    for (const int wanted : *devices) {
      const auto address = context_->network->address(deviceOf(wanted, *context_->network));
      addresses.push_back(address ? address->toWire() : sockets::WireAddress{});
    }
  NetMessage message;
  message.kind = NetMessage::kAddresses;
  control_.queue(sockets::FrameKind::kData, netMessage<sockets::WireAddress>(message, addresses));
}

// Starts to monitor the paths of the queues. The control connection detects failures of its own path, so
// paths between the same two addresses are left out.
void NetConnection::monitorPaths(std::span<const sockets::WireAddress> addresses) {
  if (addresses.size() != sends_.size() + receives_.size() || !paths_.empty()) return;
  const auto monitor = [&](int device, const sockets::WireAddress& address, const QueueMemory& queue,
                           bool sends) {
    const auto from = context_->network->address(device);
    if (!from || address.family == 0) return;
    sockets::SocketAddress to = sockets::SocketAddress::fromWire(address);
    const bool ofControl = to.sameHostAs(address_) && from->sameHostAs(context_->listener->address());
    if (to.linkLocal() || ofControl) return;
    to.setPort(address_.port());
    auto path = std::find_if(paths_.begin(), paths_.end(), [&](const Path& known) {
      return known.device == device && known.monitor.to().sameHostAs(to);
    });
    if (path == paths_.end())
      path = paths_.insert(path, {device, LinkMonitor(*from, to, context_->silence), {}});
    path->moved.push_back(sends ? &queue.control->head : &queue.control->tail);
  };
  for (std::size_t i = 0; i < sends_.size(); ++i)
    monitor(sends_[i].device, addresses[i], sends_[i].memory.queue(), true);
  for (std::size_t i = 0; i < receives_.size(); ++i)
    monitor(receives_[i].device, addresses[sends_.size() + i], receives_[i].memory.queue(), false);
}

// Returns whether the peer's host does not answer over one of the paths.
bool NetConnection::pathSilent() {
  for (Path& path : paths_) {
    std::uint64_t moved = 0;
    for (const auto* steps : path.moved) moved += steps->load(std::memory_order_acquire);
    if (!path.monitor.silent(moved)) continue;
    last_.state = PeerState::kLost;
    last_.how =
        fmt::format("its host does not answer over {}", context_->network->properties(path.device).name);
    return true;
  }
  return false;
}

// Reads the peer's offer and starts to connect the links of the sending queues. Returns false if the offer
// has not arrived.
bool NetConnection::readOffer() {
  sockets::Frame frame;
  switch (control_.read(frame, kMaxNetMessageBytes)) {
    case sockets::FrameStream::Read::kNothing:
      return false;
    case sockets::FrameStream::Read::kClosed:
      throw Error(ResultCode::kRemoteError, "rank {} closed its connection while connecting", peer());
    case sockets::FrameStream::Read::kFrame:
      break;
  }
  if (netMessageOf(frame.payload).kind == NetMessage::kAbort) {
    hear(frame);
    throw Error(ResultCode::kRemoteError, "rank {} gave up while connecting: {}", peer(), last_.text);
  }
  const std::vector<NetHandle> handles = handlesOf(
      frame.payload, {peer(), request_.sends.size(), request_.receives.size(), context_->stepBytes});
  if (netMessageOf(frame.payload).pairsQueues != 0 && pairsQueues())
    paired_ = std::min(handles.size(), receives_.size());
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const int device = deviceOf(request_.sends[i], *context_->network);
    sends_.push_back({device, NetQueueMemory(context_->stepBytes), {}, {}});
    if (waitsForReverseLink(i)) continue;
    try {
      sends_.back().connector = context_->network->call(device, handles[i]);
    } catch (const Error& error) {
      throw Error(error.code(), "rank {}: {}", peer(), error.what());
    }
    if (i < paired_) receives_[i].listener.reset();
  }
  return true;
}

void NetConnection::begin(NetSendQueue& queue, std::unique_ptr<NetSender> link) {
  queue.pump =
      std::make_unique<NetSendPump>(peer(), queue.memory.queue(), std::move(link), *context_->engine);
}

void NetConnection::begin(NetReceiveQueue& queue, std::unique_ptr<NetReceiver> link) {
  queue.pump =
      std::make_unique<NetReceivePump>(peer(), queue.memory.queue(), std::move(link), *context_->engine);
}

void NetConnection::joinSend(std::size_t i) {
  NetSendQueue& queue = sends_[i];
  if (queue.pump || !queue.connector) return;
  auto link = queue.connector->advance();
  if (!link) return;
  begin(queue, std::move(link));
  if (i < paired_) begin(receives_[i], queue.connector->reverseLink());
}

void NetConnection::joinReceive(std::size_t i) {
  NetReceiveQueue& queue = receives_[i];
  if (queue.pump || !queue.listener) return;
  auto link = queue.listener->accept();
  if (!link) return;
  begin(queue, std::move(link));
  if (i < paired_) begin(sends_[i], queue.listener->reverseLink());
}

// Goes on with connecting the links. Returns whether all are connected.
bool NetConnection::join() {
  control_.flush();
  try {
    for (std::size_t i = 0; i < receives_.size(); ++i) joinReceive(i);
    for (std::size_t i = 0; i < sends_.size(); ++i) joinSend(i);
  } catch (const Error& error) {
    throw Error(error.code(), "rank {}: {}", peer(), error.what());
  }
  const auto joined = [](const auto& queue) { return queue.pump != nullptr; };
  if (control_.flushed() && std::all_of(sends_.begin(), sends_.end(), joined) &&
      std::all_of(receives_.begin(), receives_.end(), joined))
    return true;
  // Read the peer's messages meanwhile: it may abort or leave.
  const PeerState state = listen().state;
  if (state != PeerState::kThere && state != PeerState::kClosed)
    throw Error(ResultCode::kRemoteError, "rank {} {} while connecting{}{}", peer(),
                state == PeerState::kAborted ? "gave up" : "closed its connection",
                last_.text.empty() ? "" : ": ", last_.text);
  return false;
}

void NetConnection::makeEnds() {
  for (NetSendQueue& queue : sends_) {
    queue.connector.reset();
    // Users' buffers are not registered with the network.
    const bool refers = !context_->network->properties(queue.device).needsRegistration;
    senders_.push_back(std::make_unique<SendEnd>(peer(), queue.memory.queue(), refers ? &memory_ : nullptr,
                                                 queue.pump.get()));
    context_->engine->add(*queue.pump);
  }
  for (NetReceiveQueue& queue : receives_) {
    queue.listener.reset();
    receivers_.push_back(std::make_unique<RecvEnd>(peer(), queue.memory.queue(), nullptr, queue.pump.get()));
    context_->engine->add(*queue.pump);
  }
}

std::string NetConnection::via(QueueUse use, int queue) const {
  const std::vector<int>& devices = use == QueueUse::kSend ? request_.sends : request_.receives;
  return fmt::format("NET/{}/{}", context_->network->name(),
                     deviceOf(devices.at(static_cast<std::size_t>(queue)), *context_->network));
}

void NetConnection::hear(const sockets::Frame& frame) {
  const NetMessage message = netMessageOf(frame.payload);
  if (message.kind == NetMessage::kBye) {
    const auto steps = netItemsOf<std::uint64_t>(frame.payload);
    for (std::size_t i = 0; i < std::min(steps.size(), receives_.size()); ++i)
      receives_[i].announced = steps[i];
    bye_ = true;
  } else if (message.kind == NetMessage::kAbort) {
    const auto text = netItemsOf<char>(frame.payload);
    last_ = {PeerState::kAborted, message.failedRank, std::string(text.begin(), text.end())};
  } else if (message.kind == NetMessage::kAsk) {
    queueMessage(NetMessage::kAnswer);
  } else if (message.kind == NetMessage::kAnswer) {
    answered_ = true;
  } else if (message.kind == NetMessage::kAddresses) {
    monitorPaths(netItemsOf<sockets::WireAddress>(frame.payload));
  }
}

// The state of the peer as far as the queues and paths show it, if the peer itself has not reported an end.
PeerNews NetConnection::newsOfQueues() {
  if (pathSilent()) return last_;
  if (bye_) {
    // The peer's last steps travel over other connections than its goodbye, so wait until all have arrived.
    // Steps for which the queue has no free slot are still on their way: report kClosed for now, but do not
    // make it final.
    bool complete = true;
    for (NetReceiveQueue& queue : receives_) {
      if (!queue.pump) continue;
      queue.pump->pump();
      if (queue.pump->complete(queue.announced)) continue;
      complete = false;
      if (!queue.pump->full()) return last_;
    }
    PeerNews closed;
    closed.state = PeerState::kClosed;
    if (complete) last_ = closed;
    return closed;
  }
  const auto checkLoss = [&](const NetPump* pump) {
    const Error* loss = pump != nullptr ? pump->loss() : nullptr;
    if (loss != nullptr) last_ = {PeerState::kLost, -1, loss->what()};
  };
  for (const NetSendQueue& queue : sends_) checkLoss(queue.pump.get());
  for (const NetReceiveQueue& queue : receives_) checkLoss(queue.pump.get());
  return last_;
}

bool NetConnection::ask() noexcept {
  const std::lock_guard lock(controlMutex_);
  if (phase_ != Phase::kReady || bye_ || last_.state != PeerState::kThere) return false;
  answered_ = false;
  try {
    queueMessage(NetMessage::kAsk);
  } catch (const std::exception&) {
    return false;  // out of memory
  }
  return true;
}

bool NetConnection::answered() {
  const std::lock_guard lock(controlMutex_);
  return answered_;
}

// Sends a message without items. Bytes that the connection does not take now go with the next message.
void NetConnection::queueMessage(NetMessage::Kind kind) {
  NetMessage message;
  message.kind = kind;
  control_.queue(sockets::FrameKind::kData, netMessage<char>(message, {}));
  control_.flush();
}

PeerNews NetConnection::news() {
  const std::lock_guard lock(controlMutex_);
  // Until the offers have been exchanged, advance() reads the messages and throws if the peer leaves.
  return phase_ == Phase::kMeeting || phase_ == Phase::kOffering ? last_ : listen();
}

// Reads the peer's messages and returns its state.
PeerNews NetConnection::listen() {
  if (last_.state != PeerState::kThere) return last_;
  sockets::Frame frame;
  try {
    while (!bye_ && last_.state == PeerState::kThere) {
      const sockets::FrameStream::Read read = control_.read(frame, kMaxNetMessageBytes);
      if (read == sockets::FrameStream::Read::kNothing) break;
      if (read == sockets::FrameStream::Read::kClosed)
        last_.state = PeerState::kLost;
      else
        hear(frame);
    }
  } catch (const Error& error) {
    last_ = {PeerState::kLost, -1, error.what()};
  }
  return last_.state == PeerState::kThere ? newsOfQueues() : last_;
}

bool NetConnection::say(std::uint32_t kind, int failedRank, std::string_view text) noexcept {
  const std::lock_guard lock(controlMutex_);
  if (!control_.open()) return false;
  try {
    NetMessage message;
    message.kind = kind;
    message.failedRank = failedRank;
    if (kind == NetMessage::kBye) {
      std::vector<std::uint64_t> steps;
      for (const NetSendQueue& queue : sends_)
        steps.push_back(queue.memory.queue().control->tail.load(std::memory_order_acquire));
      control_.queue(sockets::FrameKind::kData, netMessage<std::uint64_t>(message, steps));
    } else {
      control_.queue(
          sockets::FrameKind::kData,
          netMessage<char>(message, std::span(text.data(), std::min(text.size(), sockets::kMaxErrorBytes))));
    }
    control_.flushWithin(kLastMessageMilliseconds);
  } catch (const std::exception&) {
    // Out of memory: the peer sees that the connection closes.
  }
  return true;
}

void NetConnection::abort(int failedRank, std::string_view text) noexcept {
  // Even if another thread has told the peer: the caller may free its buffers once this returns.
  if (phase_ == Phase::kReady)
    for (const NetSendQueue& queue : sends_) queue.pump->releaseUserBuffers();
  if (aborted_.exchange(true)) return;
  if (!say(NetMessage::kAbort, failedRank, text)) aborted_ = false;
}

// Drives the sending queues. Returns whether the network has taken all steps; if not, adds the descriptors
// to wait for.
bool NetConnection::flushed(std::vector<pollfd>& fds) {
  bool all = true;
  for (NetSendQueue& queue : sends_) {
    if (queue.pump->flushed()) continue;
    queue.pump->drive(fds);
    all &= queue.pump->flushed();
  }
  return all;
}

void NetConnection::flush() noexcept {
  try {
    const Deadline deadline = Deadline::after(kFlushTime);
    std::vector<pollfd> fds;
    while (!flushed(fds) && !deadline.passed()) {
      const PeerState state = news().state;
      if (state == PeerState::kLost || state == PeerState::kAborted) return;
      poll(fds.data(), fds.size(), 1);
      fds.clear();
    }
  } catch (const std::exception&) {
    // The destructor has no way to report it.
  }
}

}  // namespace xylem::transport
