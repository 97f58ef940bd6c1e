#include "cli/calibrate/host_bench.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "planner/topology/detect_cpu.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/host_device.h"
#include "runtime/device/scheduler.h"

namespace xylem::cli {
namespace {

constexpr int kRanks = 2;
constexpr std::uint64_t kMinBytes = 8;
constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20;
// A round times every size under every protocol in a few batches of operations and keeps the fastest. A batch
// is this long, within limits on its number of operations: short enough to fit between two disturbances.
constexpr double kBatchMicroseconds = 200;
constexpr int kMinBatch = 2;
constexpr int kMaxBatch = 400;
constexpr int kBatches = 5, kBatchesOfLarge = 2;
constexpr int kWarmUps = 3, kWarmUpsOfLarge = 1;
constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;

struct FreeMemory {
  void operator()(std::byte* memory) const { device::releaseMemory(memory); }
};

// The user's settings, with algorithm, protocol and transport replaced by those to measure.
Settings settingsOf(const Settings& base, const char* protocol, bool net, int rank) {
  const std::string origin = "xylem tune --calibrate";
  Settings settings = base;
  const auto set = [&](Setting setting, const std::string& value) {
    settings.set(spec(setting), value, origin);
  };
  set(Setting::kAlgo, "Ring");
  set(Setting::kProto, protocol);
  set(Setting::kHostDevices, std::to_string(kRanks));
  if (net) {
    set(Setting::kHostId, "xylem calibration " + std::to_string(rank));
    set(Setting::kP2pDisable, "1");
    set(Setting::kShmDisable, "1");
  }
  return settings;
}

// The mean of both ranks' times, which differ little since the ranks wait for each other.
tuning::HostRound meanOf(tuning::HostRound a, const tuning::HostRound& b) {
  const auto blend = [](double& x, double y) { x = (x + y) / 2; };
  const auto blendAll = [&](std::vector<tuning::HostSample>& x, const std::vector<tuning::HostSample>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) blend(x[i].microseconds, y[i].microseconds);
  };
  blend(a.launch, b.launch);
  for (const Protocol p : kAllProtocols) blendAll(a.protocols[p], b.protocols[p]);
  blendAll(a.net, b.net);
  return a;
}

// The first CPU of each of two cores near each other that this process may use; empty, for no pinning, if
// there are not enough.
std::vector<int> coresOfRanks() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<int> cores;
  for (const topology::NumaNode& node : topology::readCpuLayout("/").nodes)
    for (const int core : node.cores)
      if (core >= 0 && core < CPU_SETSIZE && CPU_ISSET(static_cast<unsigned>(core), &allowed))
        cores.push_back(core);
  if (cores.size() < kRanks) return {};
  cores.resize(kRanks);
  return cores;
}

// Pins the calling thread. A failure is ignored: it only makes the times less steady.
void pinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

using Clock = std::chrono::steady_clock;
double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

std::vector<std::uint64_t> calibrationSizes() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = kMinBytes; bytes <= kMaxBytes; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

class HostBench::Rank {
 public:
  Rank(int rank, std::atomic<int>& batch)
      : rank_(rank),
        batch_(batch),
        stream_(rank),
        memory_(static_cast<std::byte*>(device::allocateMemory(kMaxBytes))) {
    std::memset(memory_.get(), 0, kMaxBytes);  // sums of zeros stay zeros, and the pages are there
  }

  std::unique_ptr<comm::Communicator> join(std::vector<bootstrap::UniqueId> ids, int rank, int ranks,
                                           const Settings& settings,
                                           const std::shared_ptr<const Logger>& log) {
    auto comm = std::make_unique<comm::Communicator>(comm::Membership{std::move(ids), rank, ranks, rank_},
                                                     comm::CommConfig{}, settings, log);
    comm->join();
    return comm;
  }
  void joinWithin(Protocol p, const bootstrap::UniqueId& id, const Settings& settings,
                  const std::shared_ptr<const Logger>& log) {
    within_[p] = join({id}, rank_, kRanks, settingsOf(settings, name(p), false, rank_), log);
  }
  void joinNet(const bootstrap::UniqueId& id, const Settings& settings,
               const std::shared_ptr<const Logger>& log) {
    net_ = join({id}, rank_, kRanks, settingsOf(settings, name(Protocol::kSimple), true, rank_), log);
  }
  void joinAlone(const bootstrap::UniqueId& id, const Settings& settings,
                 const std::shared_ptr<const Logger>& log) {
    alone_ = join({id}, 0, 1, settings, log);
  }

  // `cores` has one entry per rank, or none for no pinning.
  tuning::HostRound measure(const std::vector<int>& cores) {
    if (!cores.empty()) pinTo(cores[static_cast<std::size_t>(rank_)]);
    tuning::HostRound round;
    round.launch = INFINITY;
    for (int i = 0; i < kBatches; ++i)
      round.launch = std::min(round.launch, batch(*alone_, kMinBytes, kMaxBatch));
    for (const std::uint64_t bytes : calibrationSizes()) {
      // Protocols take turns at each size, so that a disturbance affects all of them.
      for (const Protocol p : kAllProtocols) round.protocols[p].push_back(time(*within_[p], bytes));
      if (net_) round.net.push_back(time(*net_, bytes));
    }
    return round;
  }

  // Ends the other rank's wait for this one.
  void abort() noexcept {
    for (const auto& comm : within_)
      if (comm) comm->abort("(its other rank has failed)");
    if (net_) net_->abort("(its other rank has failed)");
  }

 private:
  void enqueue(comm::Communicator& comm, std::uint64_t bytes) {
    comm::CommOperation operation;
    operation.send = operation.receive = memory_.get();
    operation.count = bytes / elementBytes(DataType::kFloat32);
    operation.type = DataType::kFloat32;
    operation.stream = &stream_.get();
    comm.launch({&operation, 1});
  }
  void synchronize() {
    device::Scheduler::instance().wait(stream_.get());
    if (const auto error = stream_.get().takeError()) throw *error;
  }
  // Microseconds per operation.
  double batch(comm::Communicator& comm, std::uint64_t bytes, int operations) {
    const auto start = Clock::now();
    for (int i = 0; i < operations; ++i) enqueue(comm, bytes);
    synchronize();
    return microsecondsSince(start) / operations;
  }
  tuning::HostSample time(comm::Communicator& comm, std::uint64_t bytes) {
    const bool large = bytes >= kLarge;
    double last = batch(comm, bytes, large ? kWarmUpsOfLarge : kWarmUps);
    double least = INFINITY;
    for (int i = 0; i < (large ? kBatchesOfLarge : kBatches); ++i) {
      // Rank 0 chooses the batch's size by the last times, since the machine may have become busy. Rank 1
      // reads it after an AllReduce that rank 0 joins only after choosing.
      if (rank_ == 0)
        batch_.store(std::clamp(static_cast<int>(kBatchMicroseconds / last), kMinBatch, kMaxBatch),
                     std::memory_order_release);
      batch(comm, kMinBytes, 1);
      last = batch(comm, bytes, batch_.load(std::memory_order_acquire));
      least = std::min(least, last);
    }
    return {static_cast<double>(bytes), least};
  }

  const int rank_;
  std::atomic<int>& batch_;
  device::OwnedStream stream_;
  std::unique_ptr<std::byte, FreeMemory> memory_;
  ByProtocol<std::unique_ptr<comm::Communicator>> within_;
  std::unique_ptr<comm::Communicator> net_, alone_;
};

HostBench::HostBench(const Settings& settings, std::shared_ptr<const Logger> log) {
  for (int rank = 0; rank < kRanks; ++rank) ranks_.push_back(std::make_unique<Rank>(rank, batch_));
  for (const Protocol p : kAllProtocols) {
    const bootstrap::UniqueId id = comm::newUniqueId(settings, log);
    onBothRanks([&](Rank& rank) { rank.joinWithin(p, id, settings, log); });
  }
  onBothRanks([&](Rank& rank) { rank.joinAlone(comm::newUniqueId(settings, log), settings, log); });
  try {
    const bootstrap::UniqueId id = comm::newUniqueId(settings, log);
    onBothRanks([&](Rank& rank) { rank.joinNet(id, settings, log); });
  } catch (const Error& error) {
    netProblem_ = error.what();
  }
}

HostBench::~HostBench() = default;

void HostBench::onBothRanks(const std::function<void(Rank&)>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (const auto& rank : ranks_)
    threads.emplace_back([&, rank = rank.get()] {
      try {
        work(*rank);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        rank->abort();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<tuning::HostRound> HostBench::measure(int rounds, const std::function<void(int)>& begin) {
  // Without pinning, the kernel may keep both ranks on one core for a while, where they take turns.
  const std::vector<int> cores = coresOfRanks();
  std::vector<tuning::HostRound> measured;
  for (int i = 0; i < rounds; ++i) {
    begin(i);
    std::vector<tuning::HostRound> parts(kRanks);
    std::atomic<std::size_t> next{0};
    onBothRanks([&](Rank& rank) { parts[next.fetch_add(1)] = rank.measure(cores); });
    measured.push_back(meanOf(parts[0], parts[1]));
  }
  return measured;
}

}  // namespace xylem::cli
