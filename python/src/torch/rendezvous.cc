#include "torch/rendezvous.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/number_ranges.h"
#include "core/process_state.h"
#include "planner/topology/detect_files.h"

namespace xylem::torch {
namespace {

// Pause between two reads of the store, which is a connection to another process, or a file.
constexpr auto kMinPause = std::chrono::milliseconds(1);
constexpr auto kMaxPause = std::chrono::milliseconds(50);

// The host device of this process: one for all its process groups.
std::mutex deviceMutex;
std::optional<int> processDevice;

// There are as many devices as cores, unless a launcher started more ranks.
void allowDevices(int devices) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  setenv("XYLEM_HOST_DEVICES", std::to_string(std::max(devices, cores)).c_str(), 0);
}

int device() {
  const std::lock_guard lock(deviceMutex);
  return processDevice.value_or(0);
}

// Names the processes that this one sees by their numbers; empty if the kernel does not tell which these are.
std::string processes() {
  struct stat status {};
  if (stat("/proc/self/ns/pid", &status) != 0) return "";
  return xylem::topology::hostHash("/", "") + ' ' + std::to_string(status.st_ino);
}

template <typename Done, typename Look>
void poll(const Done& done, const Look& look) {
  for (auto pause = kMinPause; !done(); pause = std::min(2 * pause, kMaxPause)) {
    look();
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

void setProcessDevice(int device, int devices) {
  const std::lock_guard lock(deviceMutex);
  if (processDevice) return;
  allowDevices(devices);
  processDevice = device;
}

Rendezvous::Rendezvous(c10::intrusive_ptr<c10d::Store> store, int rank, int ranks,
                       std::chrono::milliseconds timeout)
    : store_(std::move(store)), rank_(rank), ranks_(ranks), timeout_(timeout) {}

void Rendezvous::set(const std::string& key, const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::uint8_t*>(data);
  store_->set(key, std::vector<std::uint8_t>(begin, begin + bytes));
}

ncclUniqueId Rendezvous::idAt(const std::string& key) {
  const std::vector<std::uint8_t> bytes = store_->get(key);
  ncclUniqueId id;
  if (bytes.size() != sizeof id)
    throw std::runtime_error("xylem: the store has something else than an id at " + key);
  std::memcpy(&id, bytes.data(), sizeof id);
  return id;
}

// The number of lower ranks on this host. Groups of several hosts and sizes share the device, so the first
// one decides, unless a launcher gives the number.
void Rendezvous::chooseDevice() {
  // A launcher's address is for one communicator: a process group has several, and their ids come through the
  // store.
  unsetenv("NCCL_COMM_ID");
  const char* hostId = std::getenv("NCCL_HOSTID");
  const std::string host = xylem::topology::hostHash("/", hostId == nullptr ? "" : hostId);
  const std::string process = processes() + ' ' + std::to_string(getpid());
  set("process/" + std::to_string(rank_), process.data(), process.size());
  set("host/" + std::to_string(rank_), host.data(), host.size());
  awaitAll();
  const std::lock_guard lock(deviceMutex);
  if (processDevice) return;
  int lower = 0, all = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::vector<std::uint8_t> other = store_->get("host/" + std::to_string(rank));
    if (std::string(other.begin(), other.end()) != host) continue;
    ++all;
    lower += rank < rank_ ? 1 : 0;
  }
  if (const char* local = std::getenv("LOCAL_RANK")) lower = std::atoi(local);
  allowDevices(std::max(all, lower + 1));
  processDevice = lower;
}

void Rendezvous::awaitAll() {
  const auto until = std::chrono::steady_clock::now() + timeout_;
  std::int64_t here = store_->add("here", 1);
  poll([&] { return here >= ranks_; },
       [&] {
         if (std::chrono::steady_clock::now() > until)
           throw std::runtime_error(
               "xylem: only " + std::to_string(here) + " of " + std::to_string(ranks_) +
               " ranks came to the process group within " + std::to_string(timeout_.count()) + " ms: " +
               missingRanks() + " did not; look whether they run, and at what they wait for (py-spy, gdb)");
         here = store_->add("here", 0);
       });
}

// Each rank that came has left the name of its host.
std::string Rendezvous::missingRanks() {
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank)
    if (!store_->check({"host/" + std::to_string(rank)})) missing.push_back(rank);
  return xylem::rankRanges(missing);
}

std::shared_ptr<Membership> Rendezvous::joinAll() {
  chooseDevice();
  if (rank_ == 0) {
    const ncclUniqueId id = newId();
    set("id", &id, sizeof id);
  }
  return std::make_shared<Membership>(idAt("id"), rank_, ranks_, device());
}

pid_t Rendezvous::processOf(int rank) {
  const std::vector<std::uint8_t> bytes = store_->get("process/" + std::to_string(rank));
  const std::string text(bytes.begin(), bytes.end()), mine = processes();
  const std::size_t blank = text.rfind(' ');
  if (blank == std::string::npos || mine.empty() || text.substr(0, blank) != mine) return 0;
  return std::atoi(text.c_str() + blank);
}

// The root of an id waits only for a limited time, so it starts when both ends are known to want it.
std::unique_ptr<Membership> Rendezvous::joinPair(int from, int to, const std::function<void()>& throwIfOver) {
  const std::string key = "pair/" + std::to_string(from) + "/" + std::to_string(to);
  const bool sends = rank_ == from;
  const int peer = sends ? to : from;
  const pid_t process = processOf(peer);
  auto looked = std::chrono::steady_clock::now();
  const auto look = [&] {
    throwIfOver();
    const auto now = std::chrono::steady_clock::now();
    if (process == 0 || now - looked < kMaxPause) return;
    looked = now;
    if (xylem::processIsGone(process))
      throw std::runtime_error("xylem: rank " + std::to_string(peer) + " is gone (process " +
                               std::to_string(process) + " has ended) while rank " + std::to_string(rank_) +
                               " waits to reach it");
  };
  if (!sends) set(key + "/ready", "1", 1);
  const std::string awaited = key + (sends ? "/ready" : "/id");
  poll([&] { return store_->check({awaited}); }, look);
  if (sends) {
    const ncclUniqueId id = newId();
    set(key + "/id", &id, sizeof id);
    return std::make_unique<Membership>(id, 0, std::array{from, to}, device(), look);
  }
  return std::make_unique<Membership>(idAt(key + "/id"), 1, std::array{from, to}, device(), look);
}

}  // namespace xylem::torch
