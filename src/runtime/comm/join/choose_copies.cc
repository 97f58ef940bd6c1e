#include "runtime/comm/join/choose_copies.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "runtime/collectives/shared_work.h"

namespace xylem::comm {
namespace {

using transport::CopyChoices;
using transport::usualChoices;

// Keeps what this process has found out, in case it can write no file.
class ProcessMemory {
 public:
  static ProcessMemory& instance() {
    static auto& memory = *std::make_unique<ProcessMemory>().release();  // used until the program ends
    return memory;
  }
  // Calls `find` for a machine of which this process knows nothing. One thread at a time, as others would disturb it.
  template <typename Find>
  HostCopies of(const transport::MachineKey& key, Find&& find) {
    const std::lock_guard lock(mutex_);
    if (!known_ || known_->first != key) {
      auto [copies, lasts] = find();
      if (!lasts) return copies;
      known_.emplace(key, std::move(copies));
    }
    return known_->second;
  }

 private:
  std::mutex mutex_;
  std::optional<std::pair<transport::MachineKey, HostCopies>> known_;
};

struct Found {
  HostCopies copies;
  bool lasts = true;  // false: the next communicator tries again
};

Found recallOrMeasure(const transport::MachineKey& key, const device::CorePair& cores, bool mayMeasure) {
  const auto file = transport::ChoiceFile::of(key);
  if (auto known = file.find(key))
    return {{known->choices, fmt::format("remembered in {}: {}", file.path(), known->numbers)}};
  if (!mayMeasure)
    return {{usualChoices(), "the default: there are more ranks than cores, so they are not measured"},
            false};
  try {
    const collectives::Calibration found = collectives::calibrate(cores);
    const std::string numbers = found.numbers();
    if (!found.complete) return {{found.choices, "measured in part, as time ran out: " + numbers}, true};
    const std::string problem = file.remember(key, {found.choices, numbers});
    return {
        {found.choices, fmt::format("measured{}: {}", problem.empty() ? "" : " (" + problem + ")", numbers)}};
  } catch (const std::exception& error) {  // also std::system_error, if the system gives no thread
    return {{usualChoices(), fmt::format("the default: {}", error.what())}};
  }
}

HostCopies measuredFor(const JobRoster& roster) {
  const HostMap& host = roster.hosts;
  if (host.ranks.size() < 2) return {usualChoices(), "the default: one rank on this host"};
  if (std::ranges::all_of(
          host.ranks, [&](int rank) { return roster.peers[static_cast<std::size_t>(rank)].peer.gpu != 0; }))
    return {usualChoices(), "the default: the ranks of this host are on GPUs"};
  const auto coresOf = [&](int rank) { return roster.peers[static_cast<std::size_t>(rank)].cores; };
  const auto cores = device::corePair(coresOf(host.ranks.front()), coresOf(host.ranks.back()));
  if (!cores) return {usualChoices(), "the default: the ranks have one core together"};
  const transport::MachineKey key = machineKey(*cores);
  return ProcessMemory::instance().of(key, [&] {
    Found found = recallOrMeasure(key, *cores, !roster.ownCores().oversubscribed);
    return std::pair(std::move(found.copies), found.lasts);
  });
}

HostCopies pinned(const Settings& settings) {
  const std::string& text = settings.text(Setting::kCopyChoices);
  const std::string where = fmt::format("XYLEM_COPY_CHOICES ({})", settings.origin(Setting::kCopyChoices));
  try {
    return {text == "default" ? CopyChoices() : CopyChoices::fromText(text), where};
  } catch (const Error& error) {
    throw Error(error.code(), "{}: {}", where, error.what());
  }
}

std::string firstLineOf(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

int copyThreads(const JobRoster& roster, const Settings& settings, int device) {
  // Some cores together can do what the memory of a socket can.
  constexpr int kMost = 8;
  if (const std::int64_t wanted = settings.integer(Setting::kCopyThreads); wanted > 0)
    return static_cast<int>(wanted);
  // The ranks of a part of a job are not alone. An earlier, larger communicator has counted the others.
  static std::mutex mutex;
  static auto& leastOf = *new std::map<int, int>;  // by device
  const std::lock_guard lock(mutex);
  int& least = leastOf.emplace(device, kMost).first->second;
  return least = std::clamp(roster.ownCores().perRank, 1, least);
}

transport::MachineKey machineKey(const device::CorePair& cores) {
  return {firstLineOf("/proc/sys/kernel/random/boot_id"), device::processorText(),
          cores.sharesCache ? "cores that share a cache" : "cores without a common cache"};
}

HostCopies copiesFor(const JobRoster& roster, const Settings& settings, int threads) {
  // That many threads read faster through the kernel than one copies in while another one copies out.
  constexpr int kReadFaster = 4;
  const bool isPinned = settings.text(Setting::kCopyChoices) != "measured";
  HostCopies copies = isPinned ? pinned(settings) : measuredFor(roster);
  if (!isPinned) copies.choices.shareCycle(std::max<std::size_t>(2, roster.hosts.ranks.size()));
  if (!isPinned && roster.hosts.ranks.size() > 1 && !roster.ownCores().oversubscribed) {
    copies.choices.adapt = 1;
    if (threads >= kReadFaster) {
      copies.choices.readAllFrom(collectives::SharedWork::kLeastShared);
      copies.reason =
          fmt::format("from 1 MiB on ranks begin with reading, as the first has {} threads; others: {}",
                      threads, copies.reason);
    }
  }
  if (const std::int64_t from = settings.integer(Setting::kCrossMemory); from >= 0) {
    copies.choices.adapt = 0;
    copies.choices.readFrom = static_cast<std::uint64_t>(from);
    copies.choices.readUpTo = from == 0 ? 0 : std::uint64_t{1} << 40;
    copies.choices.blockReadFrom = copies.choices.reduceReadFrom = copies.choices.readFrom;
    copies.choices.blockReadUpTo = copies.choices.reduceReadUpTo = copies.choices.readUpTo;
    copies.reason = fmt::format("what is read: XYLEM_CMA_BYTES ({}); others: {}",
                                settings.origin(Setting::kCrossMemory), copies.reason);
  }
  return copies;
}

}  // namespace xylem::comm
