#include "comm/communicator.h"

#include <nccl.h>
#include <unistd.h>

#include <algorithm>

#include "bootstrap/meeting.h"
#include "comm/comm_log.h"
#include "device/host_device.h"
#include "device/scheduler.h"
#include "transport/shm.h"

namespace xylem {

UniqueId newUniqueId(const Settings& settings, std::shared_ptr<const Logger> log) {
  return openMeeting(settings, std::move(log));
}

Communicator::Communicator(const Membership& membership, std::shared_ptr<const Logger> log)
    : membership_(membership), log_(std::move(log)) {}

Communicator::~Communicator() {
  if (operations_) Scheduler::instance().waitUntil([this] { return operations_->idle(); });
}

std::unique_ptr<Communicator> Communicator::join(const Membership& membership, const Settings& settings,
                                                 std::shared_ptr<const Logger> log) {
  std::unique_ptr<Communicator> comm(new Communicator(membership, log));
  const auto start = Deadline::Clock::now();
  if (membership.rank == 0) logVersion(*log);
  logInitStart(*log, comm.get(), membership);
  if (membership.rank == 0) hostCommId(membership.id, settings, log);
  comm->ring_ = Ring::join(membership.id, membership.rank, membership.ranks, settings, *log);
  try {
    comm->meet(settings);
    comm->plan(settings);
    comm->connect(settings);
    comm->ring_->barrier();
  } catch (const Error& error) {
    // What came from another rank already names it.
    const bool ours = error.code() != ResultCode::kRemoteError;
    comm->ring_->abort(ours ? fmt::format("rank {} failed: {}", membership.rank, error.what())
                            : error.what());
    throw;
  }
  const Deadline::Clock::duration taken = Deadline::Clock::now() - start;
  logInitComplete(*log, comm.get(), membership, comm->job_.busId,
                  std::chrono::duration<double>(taken).count());
  return comm;
}

void Communicator::meet(const Settings& settings) {
  const auto wanted = static_cast<std::uint64_t>(settings.integer(Setting::kBuffSize));
  PeerInfo mine;
  mine.peer.hostHash = hostHash(settings);
  mine.peer.pid = getpid();
  mine.peer.rank = membership_.rank;
  mine.peer.device = membership_.device;
  mine.bufferBytes = wanted;
  mine.cores = coreCount();
  mine.version = NCCL_VERSION_CODE;
  peers_ = ring_->allGather(mine);
  checkVersions(peers_, membership_.rank);
}

void Communicator::plan(const Settings& settings) {
  job_ = planWithPeers(*ring_, peers_, settings, membership_.device);
  checkSamePlan(*ring_, job_.rings);
  Scheduler::instance().noteLocalRanks(static_cast<int>(job_.neighbourhood.ranks.size()));
  logPlan(*log_, job_, membership_);
}

void Communicator::connect(const Settings& settings) {
  const auto smallest =
      std::min_element(peers_.begin(), peers_.end(),
                       [](const PeerInfo& a, const PeerInfo& b) { return a.bufferBytes < b.bufferBytes; });
  transport_ = std::make_unique<ShmTransport>(membership_.rank, smallest->bufferBytes);
  Peer mine = peers_[static_cast<std::size_t>(membership_.rank)].peer;
  mine.shm = transport_->listen();
  const std::vector<Peer> peers = ring_->allGather(mine);

  const std::chrono::seconds timeout(settings.integer(Setting::kTimeout));
  const Waiting waiting{Deadline::after(timeout), [this] { ring_->check(); }};
  links_ = connectRings(job_.rings, *transport_, peers, membership_.rank, waiting);
  logConnections(*log_, job_, membership_, peers, transport_->name());

  const int channels = channelsToUse(settings);
  operations_ = std::make_unique<Operations>(membership_.rank, links_, channels,
                                             Patience{timeout, settings.isSet(Setting::kTimeout)}, *log_);
  log_->info(Subsystem::kInit, "{} coll channels of {}", channels, links_.channels().size());
}

// A channel is work for a core: with fewer cores than ranks, more than one only takes turns with itself.
int Communicator::channelsToUse(const Settings& settings) const {
  int cores = peers_.front().cores;
  for (const PeerInfo& peer : peers_) cores = std::min(cores, peer.cores);
  const int perRank = cores / static_cast<int>(job_.neighbourhood.ranks.size());
  const auto least =
      std::max(settings.integer(Setting::kMinNChannels), settings.integer(Setting::kMinNRings));
  const int wanted = std::max({1, perRank, static_cast<int>(std::max<std::int64_t>(least, 0))});
  return std::min(wanted, static_cast<int>(job_.rings.size()));
}

void Communicator::allReduce(const RingBuffers& buffers, DataType type, ReduceOp op, Stream& stream) {
  Task& task = operations_->allReduce(buffers, chooseReduction(type, op, membership_.ranks));
  Scheduler::instance().enqueue(stream, task);
}

}  // namespace xylem
