#include "runtime/transport/net/net_connection.h"

#include <algorithm>

#include "runtime/transport/net/net_message.h"
#include "runtime/sockets/socket.h"

namespace xylem {
namespace {

// What has been sent gets this long to reach the network after the last user has gone.
constexpr std::chrono::seconds kFlushTime{5};
constexpr int kLastWordsMilliseconds = 100;

int deviceOf(int wanted, const Network& network) { return std::max(wanted, 0) % network.deviceCount(); }

}  // namespace

NetConnection::NetConnection(const ConnectionRequest& request, const WireAddress& address,
                             std::shared_ptr<NetContext> context)
    : Connection(request.peer), request_(request), context_(std::move(context)) {
  address_ = SocketAddress::fromWire(address);
  if (address_.linkLocal()) {
    WireAddress through = address;
    through.scope = context_->doorway->address().toWire().scope;
    address_ = SocketAddress::fromWire(through);
  }
  if (lower()) startCall();
}

void NetConnection::startCall() {
  const SocketAddress from = context_->doorway->address();
  Hello hello;
  hello.purpose = Purpose::kPair;
  hello.rank = context_->rank;
  hello.detail = request_.purpose;
  caller_.emplace(address_, &from, context_->secret, hello);
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
    if (lower()) context_->doorway->take(peer(), request_.purpose);  // the peer's knock, if it has
    makeEnds();
    phase_ = Phase::kReady;
  }
  return phase_ == Phase::kReady;
}

// True once there is a control connection.
bool NetConnection::meet() {
  FileDescriptor socket = lower() ? called() : context_->doorway->take(peer(), request_.purpose);
  if (!socket) {
    if (!lower() && patience_.passed()) knock();
    return false;
  }
  caller_.reset();
  knock_.close();
  breakWhenUnanswered(socket.get(), context_->silence);
  control_ = FrameStream(std::move(socket));
  return true;
}

void NetConnection::knock() {
  if (!knock_.open()) {
    if (!caller_) startCall();
    FileDescriptor socket = called();
    if (!socket) return;
    breakWhenUnanswered(socket.get(), context_->silence);
    knock_ = FrameStream(std::move(socket));
  }
  Frame frame;
  const FrameStream::Read read = knock_.read(frame, kMostNetMessage);
  if (read == FrameStream::Read::kNothing) return;
  if (read == FrameStream::Read::kFrame) hear(frame);
  throw Error(ResultCode::kRemoteError, "rank {} {} while it was to connect{}{}", peer(),
              last_.state == PeerState::kAborted ? "gave up" : "closed its connections",
              last_.text.empty() ? "" : ": ", last_.text);
}

// Whether each send can share a link with the receive of its number.
bool NetConnection::pairsQueues() const {
  for (std::size_t i = 0; i < std::min(request_.sends.size(), request_.receives.size()); ++i) {
    const int device = deviceOf(request_.sends[i], *context_->network);
    if (device != deviceOf(request_.receives[i], *context_->network) ||
        !context_->network->properties(device).wayBack)
      return false;
  }
  return true;
}

FileDescriptor NetConnection::called() {
  try {
    if (caller_->advance()) return caller_->take();
  } catch (const Error& error) {
    throw Error(error.code(), "rank {}: {}", peer(), error.what());
  }
  if (caller_->refused())
    throw Error(ResultCode::kRemoteError, "cannot connect to rank {} at {}: nobody listens there any more",
                peer(), address_.text());
  return {};
}

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
  control_.queue(FrameKind::kData, netMessage<NetHandle>(message, handles));
  tellPlaces();
}

// Where the peer can ask whether this host is there.
void NetConnection::tellPlaces() {
  std::vector<WireAddress> places;
  for (const auto* devices : {&request_.receives, &request_.sends})
    for (const int wanted : *devices) {
      const auto address = context_->network->address(deviceOf(wanted, *context_->network));
      places.push_back(address ? address->toWire() : WireAddress{});
    }
  NetMessage message;
  message.kind = NetMessage::kPlaces;
  control_.queue(FrameKind::kData, netMessage<WireAddress>(message, places));
}

// Where they take another way than the control connection, which watches its own.
void NetConnection::watchRails(std::span<const WireAddress> places) {
  if (places.size() != sends_.size() + receives_.size() || !rails_.empty()) return;
  const auto watch = [&](int device, const WireAddress& place, const QueueMemory& queue, bool sends) {
    const auto from = context_->network->address(device);
    if (!from || place.family == 0) return;
    SocketAddress to = SocketAddress::fromWire(place);
    if (to.linkLocal() || (to.sameHostAs(address_) && from->sameHostAs(context_->doorway->address()))) return;
    to.setPort(address_.port());
    auto rail = std::find_if(rails_.begin(), rails_.end(), [&](const Rail& known) {
      return known.device == device && known.watch.to().sameHostAs(to);
    });
    if (rail == rails_.end())
      rail = rails_.insert(rail, {device, RailWatch(*from, to, context_->silence), {}});
    rail->moved.push_back(sends ? &queue.control->head : &queue.control->tail);
  };
  for (std::size_t i = 0; i < sends_.size(); ++i)
    watch(sends_[i].device, places[i], sends_[i].memory.queue(), true);
  for (std::size_t i = 0; i < receives_.size(); ++i)
    watch(receives_[i].device, places[sends_.size() + i], receives_[i].memory.queue(), false);
}

// Whether the peer's host does not answer over one of them.
bool NetConnection::railSilent() {
  for (Rail& rail : rails_) {
    std::uint64_t moved = 0;
    for (const auto* steps : rail.moved) moved += steps->load(std::memory_order_acquire);
    if (!rail.watch.silent(moved)) continue;
    last_.state = PeerState::kLost;
    last_.how =
        fmt::format("its host does not answer over {}", context_->network->properties(rail.device).name);
    return true;
  }
  return false;
}

bool NetConnection::readOffer() {
  Frame frame;
  switch (control_.read(frame, kMostNetMessage)) {
    case FrameStream::Read::kNothing:
      return false;
    case FrameStream::Read::kClosed:
      throw Error(ResultCode::kRemoteError, "rank {} closed its connection while connecting", peer());
    case FrameStream::Read::kFrame:
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
    if (waitsForWayBack(i)) continue;
    try {
      sends_.back().caller = context_->network->call(device, handles[i]);
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
  if (queue.pump || !queue.caller) return;
  auto link = queue.caller->advance();
  if (!link) return;
  begin(queue, std::move(link));
  if (i < paired_) begin(receives_[i], queue.caller->wayBack());
}

void NetConnection::joinReceive(std::size_t i) {
  NetReceiveQueue& queue = receives_[i];
  if (queue.pump || !queue.listener) return;
  auto link = queue.listener->accept();
  if (!link) return;
  begin(queue, std::move(link));
  if (i < paired_) begin(sends_[i], queue.listener->wayBack());
}

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
  // What the peer has to say, above all that it is gone.
  const PeerState state = listen().state;
  if (state != PeerState::kThere && state != PeerState::kClosed)
    throw Error(ResultCode::kRemoteError, "rank {} {} while connecting{}{}", peer(),
                state == PeerState::kAborted ? "gave up" : "closed its connection",
                last_.text.empty() ? "" : ": ", last_.text);
  return false;
}

void NetConnection::makeEnds() {
  for (NetSendQueue& queue : sends_) {
    queue.caller.reset();
    // Where users hold their data is not registered.
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

void NetConnection::hear(const Frame& frame) {
  const NetMessage message = netMessageOf(frame.payload);
  if (message.kind == NetMessage::kBye) {
    const auto steps = netItemsOf<std::uint64_t>(frame.payload);
    for (std::size_t i = 0; i < std::min(steps.size(), receives_.size()); ++i)
      receives_[i].announced = steps[i];
    bye_ = true;
  } else if (message.kind == NetMessage::kAbort) {
    const auto text = netItemsOf<char>(frame.payload);
    last_ = {PeerState::kAborted, message.culprit, std::string(text.begin(), text.end())};
  } else if (message.kind == NetMessage::kAsk) {
    sayShortly(NetMessage::kAnswer);
  } else if (message.kind == NetMessage::kAnswer) {
    answered_ = true;
  } else if (message.kind == NetMessage::kPlaces) {
    watchRails(netItemsOf<WireAddress>(frame.payload));
  }
}

// What follows from the queues, if the peer has not said anything.
PeerNews NetConnection::overdueNews() {
  if (railSilent()) return last_;
  if (bye_) {
    // Its last steps come by other ways than its goodbye. Those for which there is no room may still be on
    // their way once there is some, and are then waited for again.
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
    sayShortly(NetMessage::kAsk);
  } catch (const std::exception&) {
    return false;  // no memory for a question
  }
  return true;
}

bool NetConnection::answered() {
  const std::lock_guard lock(controlMutex_);
  return answered_;
}

// What does not fit into the connection goes with what is said next.
void NetConnection::sayShortly(NetMessage::Kind kind) {
  NetMessage message;
  message.kind = kind;
  control_.queue(FrameKind::kData, netMessage<char>(message, {}));
  control_.flush();
}

PeerNews NetConnection::news() {
  const std::lock_guard lock(controlMutex_);
  // Until the offers have been exchanged, what comes is for `advance`, and it says if nothing can come.
  return phase_ == Phase::kMeeting || phase_ == Phase::kOffering ? last_ : listen();
}

PeerNews NetConnection::listen() {
  if (last_.state != PeerState::kThere) return last_;
  Frame frame;
  try {
    while (!bye_ && last_.state == PeerState::kThere) {
      const FrameStream::Read read = control_.read(frame, kMostNetMessage);
      if (read == FrameStream::Read::kNothing) break;
      if (read == FrameStream::Read::kClosed)
        last_.state = PeerState::kLost;
      else
        hear(frame);
    }
  } catch (const Error& error) {
    last_ = {PeerState::kLost, -1, error.what()};
  }
  return last_.state == PeerState::kThere ? overdueNews() : last_;
}

bool NetConnection::say(std::uint32_t kind, int culprit, std::string_view text) noexcept {
  const std::lock_guard lock(controlMutex_);
  if (!control_.open()) return false;
  try {
    NetMessage message;
    message.kind = kind;
    message.culprit = culprit;
    if (kind == NetMessage::kBye) {
      std::vector<std::uint64_t> steps;
      for (const NetSendQueue& queue : sends_)
        steps.push_back(queue.memory.queue().control->tail.load(std::memory_order_acquire));
      control_.queue(FrameKind::kData, netMessage<std::uint64_t>(message, steps));
    } else {
      control_.queue(
          FrameKind::kData,
          netMessage<char>(message, std::span(text.data(), std::min(text.size(), kMostErrorBytes))));
    }
    control_.flushWithin(kLastWordsMilliseconds);
  } catch (const std::exception&) {
    // No memory for last words; that the connection closes says enough.
  }
  return true;
}

void NetConnection::abort(int culprit, std::string_view text) noexcept {
  // Also when another thread has told the peer already: the caller's buffers may go once we return.
  if (phase_ == Phase::kReady)
    for (const NetSendQueue& queue : sends_) queue.pump->letGo();
  if (aborted_.exchange(true)) return;
  if (!say(NetMessage::kAbort, culprit, text)) aborted_ = false;
}

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
    // Nobody can be told any more.
  }
}

}  // namespace xylem
