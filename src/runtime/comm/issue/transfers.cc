#include "runtime/comm/issue/transfers.h"

#include <algorithm>
#include <iterator>

#include "runtime/comm/join/join_log.h"
#include "runtime/comm/join/transports.h"

namespace xylem::comm {
namespace {

// Up to this size transfers use LL. Its words carry their own flags and so take twice as many cache lines,
// which in host memory pays off only for a few lines (NCCL's default is for GPUs).
constexpr std::int64_t kLlThreshold = 64;

// Groups of up to this many operations are compared with the last one, whose parts they may reuse.
constexpr std::size_t kMaxRepeated = 64;

}  // namespace

Transfers::Transfers(const plan::Plan& plan, const connect::NetChoice& choice, int rank, int channels,
                     bool checked, const Settings& settings, const Transports& transports, PeerWatch& watch,
                     const Logger& log, const collectives::SharedWork& shared)
    : plan_(plan),
      choice_(choice),
      rank_(rank),
      checked_(checked),
      job_(tuning::P2pJob::from(settings, plan.job().ranks(), plan.job().hosts(), plan.allNvlink,
                                plan.tuning[static_cast<std::size_t>(plan.job().viewOf(rank))].input)),
      transports_(transports),
      watch_(watch),
      log_(log),
      shared_(shared.threads() > 1 ? &shared : nullptr) {
  const connect::ViewDecisions& decided = plan.connections.of(rank);
  job_.channels = std::min(decided.p2pChannels, channels);
  job_.channelsPerPeer = std::min(decided.p2pChannelsPerPeer, channels);
  if (!settings.isSet(Setting::kP2pLlThreshold)) job_.llThreshold = kLlThreshold;
}

tuning::P2pSplit Transfers::split(std::uint64_t bytes, int peer) const {
  tuning::P2pTransfer transfer;
  transfer.bytes = bytes;
  transfer.toSelf = peer == rank_;
  transfer.overNetwork = plan_.job().hostOf(peer) != plan_.job().hostOf(rank_);
  return tuning::splitP2p(job_, transfer);
}

transport::Connection& Transfers::to(int peer) {
  std::unique_ptr<transport::Connection>& connection = connections_[peer];
  if (!connection) {
    const ChosenTransport chosen = transports_.chooseFor(peer, plannedTransport(choice_, rank_, peer));
    transport::ConnectionRequest request{.peer = peer, .purpose = transport::kForTransfers};
    for (int part = 0; part < job_.channelsPerPeer; ++part) {
      request.sends.push_back(transferNic(choice_, plan_, rank_, peer, part, paths::Direction::kSend));
      request.receives.push_back(transferNic(choice_, plan_, rank_, peer, part, paths::Direction::kReceive));
    }
    connection = transports_.open(chosen, request);
    watch_.add(*connection);
    for (int part = 0; part < job_.channelsPerPeer; ++part)
      for (const transport::QueueUse use : {transport::QueueUse::kReceive, transport::QueueUse::kSend})
        logQueue(log_, plan_,
                 {.kind = chosen.kind,
                  .channel = part,
                  .purpose = transport::kForTransfers,
                  .rank = rank_,
                  .peer = peer,
                  .use = use,
                  .via = connection->via(use, part)});
  }
  return *connection;
}

std::span<const TransferPart> Transfers::cut(std::span<const CommOperation> operations) {
  // Programs repeat their groups. The parts of the last one then only need the new addresses.
  if (!repeats(operations)) {
    cutAnew(operations);
    return parts_;
  }
  for (TransferPart& part : parts_) {
    const CommOperation& operation = operations[part.place];
    if (part.path.sends)
      part.path.work.input = operation.send + part.path.begin;
    else
      part.path.work.output = operation.receive + part.path.begin;
  }
  return parts_;
}

bool Transfers::goOnConnecting() {
  // All of them each time: ranks of one thread may wait for each other in a ring.
  connected_ = true;
  for (TransferPart& part : parts_) connected_ = part.path.connect() && connected_;
  return connected_;
}

Transfers::Shape Transfers::shapeOf(const CommOperation& operation) {
  return {operation.function, operation.peer, operation.count * elementBytes(operation.type)};
}

// Returns whether the operations differ from those that were cut last by their buffers only.
bool Transfers::repeats(std::span<const CommOperation> operations) const {
  return std::equal(
      operations.begin(), operations.end(), shapes_.begin(), shapes_.end(),
      [](const CommOperation& operation, const Shape& shape) { return shapeOf(operation) == shape; });
}

void Transfers::cutAnew(std::span<const CommOperation> operations) {
  parts_.clear();
  shapes_.clear();
  connected_ = false;
  sendsToSelf_.clear();
  receivesFromSelf_.clear();
  bool others = true;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const CommOperation& operation = operations[i];
    const bool pointToPoint = isPointToPoint(operation.function);
    others = others && pointToPoint && operation.peer != rank_;
    if (!pointToPoint) continue;
    if (operation.peer != rank_)
      cutOne(operation, i);
    else
      (operation.function == Function::kSend ? sendsToSelf_ : receivesFromSelf_).push_back(&operation);
  }
  // A rank that also receives has no time to spare.
  const bool onlySends =
      std::all_of(parts_.begin(), parts_.end(), [](const TransferPart& part) { return part.path.sends; });
  for (TransferPart& part : parts_) part.path.work.helps = onlySends;
  pairWithSelf(operations);
  keys_.clear();
  for (const TransferPart& part : parts_) keys_.push_back(part.key);
  std::sort(keys_.begin(), keys_.end());
  apart_ = std::adjacent_find(keys_.begin(), keys_.end()) == keys_.end();
  if (others && operations.size() <= kMaxRepeated)
    std::transform(operations.begin(), operations.end(), std::back_inserter(shapes_), shapeOf);
}

void Transfers::cutOne(const CommOperation& operation, std::size_t place) {
  const std::size_t bytes = operation.count * elementBytes(operation.type);
  if (bytes == 0 && !checked_) return;
  const tuning::P2pSplit split = this->split(bytes, operation.peer);
  transport::Connection& connection = to(operation.peer);
  const bool sends = operation.function == Function::kSend;
  const auto pair = static_cast<std::size_t>(2 * operation.peer + (sends ? 1 : 0));
  for (int queue = 0; queue < split.channels; ++queue) {
    const tuning::P2pSplit::Range range = split.part(queue);
    if (range.begin == range.end && !(checked_ && queue == 0)) continue;
    parts_.push_back(
        {.place = place,
         .key = pair * static_cast<std::size_t>(job_.channelsPerPeer) + static_cast<std::size_t>(queue),
         .path = {.connection = &connection,
                  .queue = queue,
                  .sends = sends,
                  .begin = range.begin,
                  .work = {.input = sends ? operation.send + range.begin : nullptr,
                           .output = sends ? nullptr : operation.receive + range.begin,
                           .bytes = range.end - range.begin,
                           .protocol = split.protocol,
                           .shared = shared_}}});
  }
}

// The first send to oneself is paired with the first receive, and so on.
void Transfers::pairWithSelf(std::span<const CommOperation> operations) {
  if (sendsToSelf_.size() != receivesFromSelf_.size())
    throw Error(ResultCode::kInvalidUsage,
                "rank {} sends to itself {} times and receives from itself {} times in one group; each send "
                "to oneself needs its receive",
                rank_, sendsToSelf_.size(), receivesFromSelf_.size());
  for (std::size_t i = 0; i < sendsToSelf_.size(); ++i) {
    const CommOperation& send = *sendsToSelf_[i];
    const CommOperation& receive = *receivesFromSelf_[i];
    const std::size_t bytes = send.count * elementBytes(send.type);
    if (bytes != receive.count * elementBytes(receive.type))
      throw Error(ResultCode::kInvalidUsage,
                  "rank {} sends {} bytes to itself and receives {}; they must be the same", rank_, bytes,
                  receive.count * elementBytes(receive.type));
    if (bytes == 0 || send.send == receive.receive) continue;
    parts_.push_back(
        {.place = static_cast<std::size_t>(&send - operations.data()),
         .key = static_cast<std::size_t>(2 * rank_ * job_.channelsPerPeer),
         .path = {
             .sends = true,
             .work = {.input = send.send, .output = receive.receive, .bytes = bytes, .shared = shared_}}});
  }
}

}  // namespace xylem::comm
