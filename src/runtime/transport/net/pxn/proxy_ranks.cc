#include "runtime/transport/net/pxn/proxy_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "core/deadline.h"
#include "core/error.h"

namespace xylem::transport {

using Drive = DrivenPump::Drive;

namespace {

// How long a rank that leaves waits for links of queues with slots in its GPU's memory.
constexpr std::chrono::seconds kConnectTime{1};

}  // namespace

ProxyRank::ProxyRank(const Peer& peer, PeerSessions& sessions, const CarriedQueue::Context& context,
                     int slots, std::atomic<std::uint64_t>& attention)
    : Connection(peer.rank),
      context_(context),
      attention_(attention),
      channel_(sessions.with(peer), {kForProxies, ChannelKind::kNet}),
      mine_(SharedMemory::create("xylem proxy desk", sizeof(ProxyDesk))) {
  channel_.outliveRank();
  bool any = false;
  for (int device = 0; device < context_.network->deviceCount(); ++device)
    any = any || context_.takesGpu(device);
  while (any && slots-- > 0) {
    SharedSlots made;
    made.memory = context_.device->allocateShared(slotBytes(context_.stepBytes), made.handle);
    if (made.memory == nullptr) break;
    slots_.push_back(std::move(made));
  }
}

ProxyRank::~ProxyRank() {
  if (ready()) channel_.close({});
}

// Each rank sends its desk and the bell of its proxy thread, in this order.
bool ProxyRank::advance() {
  if (ready()) return true;
  if (!channel_.connected()) return false;
  if (!std::exchange(offered_, true)) {
    channel_.send(PeerMessage::kOffer, {}, mine_.fd());
    channel_.send(PeerMessage::kConfirm, {}, context_.engine->bell());
    mine_.closeFd();
  }
  if (theirs_.data() == nullptr) {
    std::optional<PeerMessage> desk = channel_.take();
    if (!desk) return false;
    theirs_ = SharedMemory::open(std::move(desk->fd), sizeof(ProxyDesk));
    theirs_.closeFd();
  }
  std::optional<PeerMessage> bell = channel_.take();
  if (!bell) return false;
  bell_ = std::move(bell->fd);
  if (!bell_)
    throw Error(ResultCode::kSystemError, "cannot take over the bell of rank {}'s proxy thread: {}", peer(),
                errnoText(EMFILE));
  ready_.store(true, std::memory_order_release);
  attention_.fetch_add(1, std::memory_order_seq_cst);
  context_.engine->wake();
  return true;
}

void ProxyRank::ask(const ProxyRequest& request, int memory) {
  channel_.send(PeerMessage::kOffer, bodyOf(request), memory);
  mine().requests.fetch_add(1, std::memory_order_release);
  wake();
}

void ProxyRank::wake() noexcept {
  mine().attention.fetch_add(1, std::memory_order_seq_cst);
  if (mine().asleep.load(std::memory_order_seq_cst) == 0) return;
  // Another thread may ring, too; that does no harm.
  mine().asleep.store(0, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  if (write(bell_.get(), &one, sizeof one) < 0) return;  // it is ringing already
}

void ProxyRank::leave() noexcept {
  mine().over.store(1, std::memory_order_release);
  if (ready()) wake();
}

Drive ProxyRank::carry(std::vector<pollfd>& fds) noexcept {
  if (!ready()) return Drive::kSleep;
  seenAttention_ = theirs().attention.load(std::memory_order_seq_cst);
  takeRequests();
  dropOver();
  bool moved = false, again = requestsTaken_ < theirs().requests.load(std::memory_order_acquire);
  for (const auto& queue : queues_) {
    const Drive drive = queue->drive(fds);
    moved = moved || drive == Drive::kMoved;
    again = again || drive == Drive::kPollAgain;
  }
  if (moved) moves_.fetch_add(1, std::memory_order_relaxed);
  const bool holds =
      std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue->holdsSteps(); });
  holds_.store(holds, std::memory_order_relaxed);
  return moved ? Drive::kMoved : again ? Drive::kPollAgain : Drive::kSleep;
}

void ProxyRank::takeRequests() {
  try {
    while (requestsTaken_ < theirs().requests.load(std::memory_order_acquire)) {
      std::optional<PeerMessage> message = channel_.take();
      if (!message) return;
      ++requestsTaken_;
      take(std::move(*message));
    }
  } catch (const std::exception&) {
    // The rank is gone, or does not speak as it should, or this process has no place for another descriptor or mapping.
    requestsTaken_ = ~std::uint64_t{0};
    theirs().refuses.store(1, std::memory_order_release);
  }
}

void ProxyRank::take(PeerMessage message) {
  const auto request = valueOf<ProxyRequest>(message.body);
  if (!message.fd || request.stepBytes != context_.stepBytes || request.device < 0 ||
      request.device >= context_.network->deviceCount())
    throw Error(ResultCode::kInvalidUsage, "rank {} wants to have something sent that is no queue", peer());
  ProxiedMemory memory(std::move(message.fd), request.stepBytes);
  SharedSlots slots;
  if (request.gdr != 0 && context_.takesGpu(request.device) && !slots_.empty()) {
    slots = std::move(slots_.back());
    slots_.pop_back();
  }
  queues_.push_back(std::make_unique<CarriedQueue>(std::move(memory), request, context_, std::move(slots)));
}

void ProxyRank::dropOver() {
  std::erase_if(queues_, [this](const auto& queue) {
    if (!queue->over()) return false;
    if (SharedSlots slots = queue->takeSlots(); slots.memory != nullptr) slots_.push_back(std::move(slots));
    return true;
  });
}

bool ProxyRank::connectsSlots() const {
  return !channel_.session().toldAbort() &&
         std::any_of(queues_.begin(), queues_.end(),
                     [](const auto& queue) { return queue->connectsSlots(); });
}

void ProxyRank::sayAsleep(bool asleep) noexcept {
  if (ready()) theirs().asleep.store(asleep ? 1 : 0, std::memory_order_seq_cst);
}

bool ProxyRank::disturbed() const noexcept {
  return ready() && theirs().attention.load(std::memory_order_seq_cst) != seenAttention_;
}

bool ProxyRank::needsThisRank() noexcept {
  // If this rank has given up, so do the others.
  if (!ready() || channel_.session().toldAbort() || theirs().over.load(std::memory_order_acquire) != 0)
    return false;
  try {
    return news().state == PeerState::kThere;
  } catch (const std::exception&) {
    return false;
  }
}

ProxyRanks::~ProxyRanks() {
  leave();
  if (serving_) context_.engine->remove(service_);
}

Connection& ProxyRanks::open(const Peer& peer, PeerSessions& sessions, int slots) {
  auto made = std::make_unique<ProxyRank>(peer, sessions, context_, slots, service_.counter());
  return *(ranks_[peer.rank] = std::move(made));
}

void ProxyRanks::serve() {
  if (ranks_.empty() || std::exchange(serving_, true)) return;
  context_.engine->add(service_);
}

ProxyRank* ProxyRanks::find(int rank) const {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : found->second.get();
}

void ProxyRanks::leave() noexcept {
  for (const auto& [number, rank] : ranks_) rank->leave();
}

void ProxyRanks::forgetDevice() noexcept {
  const Deadline deadline = Deadline::after(kConnectTime);
  const auto connects = [](const auto& rank) { return rank.second->connectsSlots(); };
  for (;;) {
    if (serving_) context_.engine->remove(service_);
    if (std::none_of(ranks_.begin(), ranks_.end(), connects) || deadline.passed()) break;
    if (serving_) context_.engine->add(service_);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Given back when the thread serves again, as that may take long.
  std::vector<std::vector<SharedSlots>> unused;
  for (const auto& [number, rank] : ranks_) unused.push_back(rank->forgetDevice());
  if (serving_) context_.engine->add(service_);
}

bool ProxyRanks::holdsSteps() const noexcept {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank.second->holdsSteps(); });
}

bool ProxyRanks::needed() noexcept {
  bool any = false;  // all are asked: that reads their messages, too
  for (const auto& [number, rank] : ranks_) any = rank->needsThisRank() || any;
  return any;
}

std::uint64_t ProxyRanks::activity() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [number, rank] : ranks_) sum += rank->activity();
  return sum;
}

Drive ProxyRanks::Service::drive(std::vector<pollfd>& fds) noexcept {
  bool moved = false, again = false;
  for (const auto& [number, rank] : ranks_) {
    rank->sayAsleep(false);
    const Drive drive = rank->carry(fds);
    moved = moved || drive == Drive::kMoved;
    again = again || drive == Drive::kPollAgain;
  }
  if (moved || again) return moved ? Drive::kMoved : Drive::kPollAgain;
  for (const auto& [number, rank] : ranks_) rank->sayAsleep(true);
  for (const auto& [number, rank] : ranks_)
    if (rank->disturbed()) return Drive::kMoved;
  return Drive::kSleep;
}

}  // namespace xylem::transport
