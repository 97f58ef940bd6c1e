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

// Goes on where an earlier measurement ran out of time.
HostCopies measure(const transport::MachineKey& key, const device::CorePair& cores,
                   const transport::ChoiceFile& file, const transport::KnownChoices& known) {
  const collectives::Calibration found = collectives::calibrate(cores, {}, known.steps, known.choices);
  transport::KnownChoices now{found.choices, known.numbers, found.steps};
  if (!found.timed.empty()) now.numbers += (now.numbers.empty() ? "" : "; ") + found.numbers();
  // The distance of the cores alone is no result that lasts.
  const std::string problem = found.timed.empty() ? "" : file.remember(key, now);
  std::string how = found.complete ? "measured"
                                   : fmt::format("measured in part ({} of {} steps), as time ran out",
                                                 found.steps, collectives::kCalibrationSteps);
  if (!problem.empty()) how += " (" + problem + ")";
  return {now.choices, now.numbers.empty() ? how : how + ": " + now.numbers};
}

Found recallOrMeasure(const transport::MachineKey& key, const device::CorePair& cores, bool mayMeasure) {
  const auto file = transport::ChoiceFile::of(key);
  const auto known = file.find(key);
  const bool isComplete = known && known->steps >= collectives::kCalibrationSteps;
  if (isComplete || (known && !mayMeasure))
    return {{known->choices, fmt::format("remembered {}in {}: {}", isComplete ? "" : "in part ", file.path(),
                                         known->numbers)},
            isComplete};
  if (!mayMeasure)
    return {{usualChoices(), "the default: there are more ranks than cores, so they are not measured"},
            false};
  try {
    return {measure(key, cores, file, known.value_or(transport::KnownChoices{usualChoices(), {}, 0}))};
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

// XYLEM_COPY_CHOICES: "measured", "default", or choices, which may follow "default".
struct Pins {
  bool measures = true;  // choices that are not named are measured
  std::string_view named;
};
Pins pinsOf(std::string_view text) {
  constexpr std::string_view kMeasured = "measured", kDefault = "default";
  if (text == kMeasured) return {};
  const std::string_view first = text.substr(0, std::min(text.find_first_of(" ,"), text.size()));
  if (first != kDefault) return {true, text};
  return {false, text.substr(std::min(text.size(), first.size() + 1))};
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
  const std::string variable = fmt::format("XYLEM_COPY_CHOICES ({})", settings.origin(Setting::kCopyChoices));
  const Pins pins = pinsOf(settings.text(Setting::kCopyChoices));
  const auto pin = [&](const CopyChoices& base) {
    try {
      return CopyChoices::fromText(pins.named, base);
    } catch (const Error& error) {
      throw Error(error.code(), "{}: {}", variable, error.what());
    }
  };
  pin(usualChoices());  // before anything is measured
  HostCopies copies = pins.measures ? measuredFor(roster) : HostCopies{usualChoices(), variable};
  if (pins.measures) copies.choices.shareCycle(std::max<std::size_t>(2, roster.hosts.ranks.size()));
  if (pins.measures && roster.hosts.ranks.size() > 1 && !roster.ownCores().oversubscribed) {
    copies.choices.adapt = 1;
    if (threads >= kReadFaster) {
      copies.choices.readAllFrom(collectives::SharedWork::kLeastShared);
      copies.reason =
          fmt::format("from 1 MiB on ranks begin with reading, as the first has {} threads; others: {}",
                      threads, copies.reason);
    }
  }
  if (!pins.named.empty()) {
    copies.choices.adapt = 0;  // unless it is named, ranks keep to what is
    copies.choices = pin(copies.choices);
    if (pins.measures) copies.reason = fmt::format("{}: {}; others: {}", pins.named, variable, copies.reason);
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
