#include "runtime/transport/net/net_connection.h"

#include <algorithm>

#include "runtime/transport/net/net_message.h"

namespace xylem::transport {
namespace {

// How long the destructor waits until the network has taken all steps.
constexpr std::chrono::seconds kFlushTime{5};

// A step is one message.
void requireStepsFit(const Network& network, const NetProperties& device, const StepBytes& stepBytes) {
  const std::size_t step = stepBytes[Protocol::kSimple];
  if (device.maxBytes >= step) return;
  const std::size_t buffer = bufferBytesWithin(device.maxBytes);
  throw Error(
      ResultCode::kInvalidUsage, "network {}: device {} carries {} bytes at once, and steps have {}{}",
      network.name(), device.name, device.maxBytes, step,
      buffer == 0
          ? ""
          : fmt::format(": set NCCL_BUFFSIZE to {} or less, which is eight steps, for all ranks", buffer));
}

}  // namespace

NetConnection::NetConnection(const ConnectionRequest& request, const Peer& peer, PeerSessions& sessions,
                             std::shared_ptr<NetContext> context)
    : Connection(request.peer),
      request_(request),
      lower_(sessions.rank() < request.peer),
      context_(std::move(context)),
      sendEnds_(optionsOf(request.sends, QueueUse::kSend)),
      receiveEnds_(optionsOf(request.receives, QueueUse::kReceive)),
      channel_(sessions.with(peer), {request.purpose, ChannelKind::kNet}) {
  if (sessions.isLocal(peer)) return;
  own_ = sessions.address();
  address_ = sessions.addressOf(peer);
}

NetConnection::~NetConnection() {
  const bool leaves = phase_ == Phase::kReady && !channel_.session().toldAbort();
  if (leaves) flush();
  for (NetSendQueue& queue : sends_)
    if (queue.pump) context_->engine->remove(*queue.pump);
  for (NetReceiveQueue& queue : receives_)
    if (queue.pump) context_->engine->remove(*queue.pump);
  if (!leaves) return;
  std::vector<std::uint64_t> steps;
  for (const NetSendQueue& queue : sends_)
    steps.push_back(queue.memory.queue().control->tail.load(std::memory_order_acquire));
  channel_.close(bodyOf(std::span<const std::uint64_t>(steps)));
}

bool NetConnection::advance() {
  if (phase_ == Phase::kReady) return true;
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::kMeeting && channel_.connected()) {
    offer();
    phase_ = Phase::kOffering;
  }
  if (phase_ == Phase::kOffering && readOffer()) phase_ = Phase::kJoining;
  if (phase_ == Phase::kJoining && join()) {
    makeEnds();
    phase_ = Phase::kReady;
  }
  return phase_ == Phase::kReady;
}

// The description of the machine may promise more than the network can do.
NetEndOptions NetConnection::optionsOf(const QueueNic& nic, QueueUse use) const {
  NetEndOptions end{.device = std::max(nic.device, 0) % context_->network->deviceCount()};
  const NetProperties properties = context_->network->properties(end.device);
  requireStepsFit(*context_->network, properties, context_->stepBytes);
  const bool takesGpus =
      context_->device != nullptr && (properties.pointers & context_->device->pointers()) != 0;
  const bool proxied =
      use == QueueUse::kSend && context_->proxies != nullptr && context_->proxies->find(nic.proxy) != nullptr;
  if (proxied) {
    end.proxy = nic.proxy;
    end.gdr = nic.gdr && takesGpus;
    return end;
  }
  end.pointers = properties.pointers;
  end.flush = nic.flush || properties.forceFlush;
  end.gdr = nic.gdr && nic.proxy < 0 && takesGpus && (!end.flush || properties.flushes);
  return end;
}

std::vector<NetEndOptions> NetConnection::optionsOf(std::span<const QueueNic> nics, QueueUse use) const {
  std::vector<NetEndOptions> ends;
  for (const QueueNic& nic : nics) ends.push_back(optionsOf(nic, use));
  return ends;
}

NetQueueMemory NetConnection::memoryOf(const NetEndOptions& end) const {
  return NetQueueMemory(context_->stepBytes, end.gdr ? context_->device : nullptr);
}

// Returns whether each send can share a link with the receive of its number.
bool NetConnection::pairsQueues() const {
  for (std::size_t i = 0; i < std::min(sendEnds_.size(), receiveEnds_.size()); ++i) {
    const int device = sendEnds_[i].device;
    if (sendEnds_[i].proxy >= 0 || device != receiveEnds_[i].device ||
        !context_->network->properties(device).bidirectional)
      return false;
  }
  return true;
}

// Listens for the links of the receiving queues and sends the handles of these listeners to the peer, and the
// addresses over which it can monitor whether this host answers.
void NetConnection::offer() {
  NetOffer offer;
  for (const NetEndOptions& end : receiveEnds_) {
    receives_.push_back({end, memoryOf(end), context_->network->listen(end.device), {}});
    offer.handles.push_back(receives_.back().listener->handle());
  }
  offer.sends = request_.sends.size();
  offer.stepBytes = context_->stepBytes;
  offer.pairsQueues = pairsQueues();
  for (const auto* ends : {&receiveEnds_, &sendEnds_})
    for (const NetEndOptions& end : *ends) {
      const auto address = context_->network->address(end.device);
      offer.addresses.push_back(address ? address->toWire() : sockets::WireAddress{});
    }
  channel_.send(PeerMessage::kOffer, serialize(offer));
}

// Starts to monitor the paths of the queues. The session detects failures of its own path, so paths between
// the same two addresses are left out; within a host there is none to fail.
void NetConnection::monitorPaths(std::span<const sockets::WireAddress> addresses) {
  if (!own_ || addresses.size() != sends_.size() + receives_.size()) return;
  const auto monitor = [&](int device, const sockets::WireAddress& address, const QueueMemory& queue,
                           bool sends) {
    const auto from = context_->network->address(device);
    if (!from || address.family == 0) return;
    sockets::SocketAddress to = sockets::SocketAddress::fromWire(address);
    const bool ofSession = to.sameHostAs(*address_) && from->sameHostAs(*own_);
    if (to.linkLocal() || ofSession) return;
    to.setPort(address_->port());
    auto path = std::find_if(paths_.begin(), paths_.end(), [&](const Path& known) {
      return known.device == device && known.monitor.to().sameHostAs(to);
    });
    if (path == paths_.end())
      path = paths_.insert(path, {device, LinkMonitor(*from, to, context_->silence), {}});
    path->moved.push_back(sends ? &queue.control->head : &queue.control->tail);
  };
  for (std::size_t i = 0; i < sends_.size(); ++i)
    monitor(sends_[i].options.device, addresses[i], sends_[i].memory.queue(), true);
  for (std::size_t i = 0; i < receives_.size(); ++i)
    monitor(receives_[i].options.device, addresses[sends_.size() + i], receives_[i].memory.queue(), false);
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
  const std::optional<PeerMessage> message = channel_.take();
  if (!message) return false;
  const NetOffer offer = netOfferOf(
      message->body, {peer(), request_.sends.size(), request_.receives.size(), context_->stepBytes});
  const std::vector<NetHandle>& handles = offer.handles;
  if (offer.pairsQueues && pairsQueues()) paired_ = std::min(handles.size(), receives_.size());
  for (std::size_t i = 0; i < handles.size(); ++i) {
    sends_.push_back(sendQueueOf(sendEnds_[i], handles[i]));
    if (waitsForReverseLink(i) || sends_[i].proxied) continue;
    try {
      sends_[i].connector = context_->network->call(sendEnds_[i].device, handles[i]);
    } catch (const Error& error) {
      throw Error(error.code(), "rank {}: {}", peer(), error.what());
    }
    if (i < paired_) receives_[i].listener.reset();
  }
  monitorPaths(offer.addresses);
  return true;
}

NetSendQueue NetConnection::sendQueueOf(const NetEndOptions& end, const NetHandle& handle) const {
  if (end.proxy < 0) return {end, memoryOf(end)};
  auto proxied = std::make_unique<ProxiedQueue>(*context_->proxies->find(end.proxy),
                                                ProxyRequest{.receiver = peer(),
                                                             .device = end.device,
                                                             .gdr = end.gdr,
                                                             .stepBytes = context_->stepBytes,
                                                             .handle = handle},
                                                context_->device);
  NetQueueMemory memory(proxied->queue());
  return {.options = end, .memory = std::move(memory), .proxied = std::move(proxied)};
}

void NetConnection::begin(NetSendQueue& queue, std::unique_ptr<NetSender> link) {
  queue.pump =
      std::make_unique<NetSendPump>(peer(), queue.memory, std::move(link), *context_->engine, queue.options);
}

void NetConnection::begin(NetReceiveQueue& queue, std::unique_ptr<NetReceiver> link) {
  queue.pump = std::make_unique<NetReceivePump>(peer(), queue.memory, std::move(link), *context_->engine,
                                                queue.options);
}

void NetConnection::joinSend(std::size_t i) {
  NetSendQueue& queue = sends_[i];
  if (queue.proxied) queue.proxied->advance();
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
  try {
    for (std::size_t i = 0; i < receives_.size(); ++i) joinReceive(i);
    for (std::size_t i = 0; i < sends_.size(); ++i) joinSend(i);
  } catch (const Error& error) {
    throw Error(error.code(), "rank {}: {}", peer(), error.what());
  }
  const bool sending = std::all_of(sends_.begin(), sends_.end(), [](const NetSendQueue& queue) {
    return queue.proxied ? queue.proxied->connected() : queue.pump != nullptr;
  });
  if (sending && std::all_of(receives_.begin(), receives_.end(),
                             [](const NetReceiveQueue& queue) { return queue.pump != nullptr; }))
    return true;
  // Read the peer's messages meanwhile: it may abort or leave.
  const PeerNews news = listen();
  if (news.state == PeerState::kThere || news.state == PeerState::kClosed) return false;
  if (news.state == PeerState::kAborted)
    throw Error(ResultCode::kRemoteError, "rank {} gave up while connecting: {}", peer(), news.text);
  throw Error(ResultCode::kRemoteError, "rank {} is gone ({}): it left before it was connected", peer(),
              howGone(news));
}

void NetConnection::makeEnds() {
  for (NetSendQueue& queue : sends_) {
    queue.connector.reset();
    if (queue.proxied) {
      senders_.push_back(
          std::make_unique<SendEnd>(peer(), queue.proxied->queue(), nullptr, queue.proxied.get()));
      continue;
    }
    // Users' buffers are not registered with the network.
    const bool refers = !context_->network->properties(queue.options.device).needsRegistration;
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
  const NetEndOptions& end =
      (use == QueueUse::kSend ? sendEnds_ : receiveEnds_).at(static_cast<std::size_t>(queue));
  // A proxied queue gets other slots if this rank's GPU does not reach the proxy rank's.
  const bool direct =
      end.gdr && (end.proxy < 0 || !ready() || sends_[static_cast<std::size_t>(queue)].proxied->onDevice());
  const std::string proxy = end.proxy < 0 ? "" : fmt::format("({})", end.proxy);
  return fmt::format("NET/{}/{}{}{}", context_->network->name(), end.device, proxy, direct ? "/GDRDMA" : "");
}

// The state of the peer as far as the queues and paths show it, if the peer itself has not reported an end.
PeerNews NetConnection::newsOfQueues() {
  if (pathSilent()) return last_;
  if (closed_) {
    // The peer's last steps travel over other connections than its farewell, so wait until all have arrived.
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
    if (loss != nullptr) last_ = {.state = PeerState::kLost, .how = loss->what()};
  };
  for (const NetSendQueue& queue : sends_) {
    checkLoss(queue.pump.get());
    if (!queue.proxied) continue;
    if (PeerNews news = queue.proxied->news(); news.state != PeerState::kThere) last_ = std::move(news);
  }
  for (const NetReceiveQueue& queue : receives_) checkLoss(queue.pump.get());
  return last_;
}

// The proxy rank of a queue that is not empty, or not connected.
int NetConnection::needsBeside() {
  const std::lock_guard lock(mutex_);
  const auto waits = std::find_if(sends_.begin(), sends_.end(), [](const NetSendQueue& queue) {
    return queue.proxied && (!queue.proxied->connected() || !queue.proxied->flushed());
  });
  return waits == sends_.end() ? -1 : waits->options.proxy;
}

PeerNews NetConnection::news() {
  const std::lock_guard lock(mutex_);
  // Until the offers have been exchanged, advance() reads the messages and throws if the peer leaves.
  return phase_ == Phase::kMeeting || phase_ == Phase::kOffering ? last_ : listen();
}

// Reads the peer's messages and returns its state.
PeerNews NetConnection::listen() {
  if (last_.state != PeerState::kThere) return last_;
  const PeerNews news = channel_.news();
  if (news.state == PeerState::kAborted || news.state == PeerState::kLost) return last_ = news;
  if (news.state == PeerState::kClosed && !closed_) {
    closed_ = true;
    const auto steps = itemsOf<std::uint64_t>(channel_.farewell());
    for (std::size_t i = 0; i < std::min(steps.size(), receives_.size()); ++i)
      receives_[i].announced = steps[i];
  }
  return newsOfQueues();
}

// The network may be sending from users' buffers.
void NetConnection::withdraw() noexcept {
  if (phase_ != Phase::kReady) return;
  for (const NetSendQueue& queue : sends_)
    if (queue.pump) queue.pump->releaseUserBuffers();
}

// Drives the sending queues. Returns whether the network has taken all steps; if not, adds the descriptors
// to wait for.
bool NetConnection::flushed(std::vector<pollfd>& fds) {
  bool all = true;
  for (NetSendQueue& queue : sends_) {
    if (queue.proxied) {
      queue.proxied->pump();
      all &= queue.proxied->flushed();
      continue;
    }
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
