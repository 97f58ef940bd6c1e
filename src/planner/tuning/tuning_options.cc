#include "planner/tuning/tuning_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/settings.h"
#include "planner/tuning/user_lists.h"

namespace xylem {
namespace {

constexpr double kMicrosecondsPerNanosecond = 0.001;
constexpr std::int64_t kNotSet = -2;

template <typename Key, std::size_t N>
std::vector<const char*> namesOf(const std::array<Key, N>& keys) {
  std::vector<const char*> names;
  for (const Key key : keys) names.push_back(name(key));
  return names;
}

std::string where(const Settings& settings, Setting setting) {
  return fmt::format("{}: {}", settings.origin(setting), spec(setting).name);
}

void readLists(const Settings& settings, TuningOptions& options) {
  if (settings.isSet(Setting::kAlgo)) {
    options.algorithmList = settings.text(Setting::kAlgo);
    const UserList list =
        parseUserList(options.algorithmList, namesOf(kAllAlgorithms), where(settings, Setting::kAlgo));
    for (const Collective c : kAllCollectives)
      for (std::size_t i = 0; i < list[c].size(); ++i) options.algorithms[c][i] = list[c][i];
  }
  if (settings.isSet(Setting::kProto)) {
    options.protocolList = settings.text(Setting::kProto);
    const UserList list =
        parseUserList(options.protocolList, namesOf(kAllProtocols), where(settings, Setting::kProto));
    for (const Collective c : kAllCollectives)
      for (std::size_t i = 0; i < list[c].size(); ++i)
        options.protocols[c][i] = list[c][i] ? Enabled::kYes : Enabled::kNo;
  }
}

// Up to six numbers, separated by blanks: LL, LL128 and Simple of Tree, then of Ring. Negative ones keep.
void readThresholds(const Settings& settings, TuningOptions& options) {
  if (!settings.isSet(Setting::kThreadThresholds)) return;
  std::istringstream text(settings.text(Setting::kThreadThresholds));
  std::size_t count = 0;
  const std::size_t protocols = kAllProtocols.size();
  for (std::string word; text >> word; ++count) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || count >= 2 * protocols)
      throw InputError({where(settings, Setting::kThreadThresholds), 0}, "`" + word + "`",
                       "at most six integers: LL LL128 Simple of Tree, then of Ring");
    if (value < 0) continue;
    (count < protocols ? options.treeThreshold : options.ringThreshold)[count % protocols] = value;
  }
}

}  // namespace

TuningOptions::TuningOptions() {
  const Settings settings;
  for (const Collective c : kAllCollectives) {
    algorithms[c].fill(true);
    protocols[c] = {Enabled::kYes, Enabled::kDecide, Enabled::kYes};
  }
  bufferBytes = {settings.integer(Setting::kLlBuffSize), settings.integer(Setting::kLl128BuffSize),
                 settings.integer(Setting::kBuffSize)};
  nvlsChunkBytes = settings.integer(Setting::kNvlsChunkSize);
}

TuningOptions TuningOptions::from(const Settings& settings) {
  TuningOptions options;
  readLists(settings, options);
  readThresholds(settings, options);
  const auto count = [&](Setting setting) { return static_cast<int>(settings.integer(setting)); };
  options.pat = count(Setting::kPatEnable);
  if (const auto overhead = settings.integer(Setting::kNetOverhead); overhead != kNotSet)
    options.netOverhead = static_cast<float>(static_cast<double>(overhead) * kMicrosecondsPerNanosecond);
  options.threads = std::max(count(Setting::kNThreads), 0);
  options.ll128Threads = std::max(count(Setting::kLl128NThreads), 0);
  options.bufferBytes = {settings.integer(Setting::kLlBuffSize), settings.integer(Setting::kLl128BuffSize),
                         settings.integer(Setting::kBuffSize)};
  options.nvlsChunkBytes = settings.integer(Setting::kNvlsChunkSize);
  if (const auto bytes = settings.integer(Setting::kNvlsTreeMaxChunkSize); bytes != kNotSet)
    options.nvlsTreeMaxChunkBytes = bytes;
  if (settings.isSet(Setting::kHostModel))
    options.host = HostModel::parse(settings.text(Setting::kHostModel), where(settings, Setting::kHostModel));
  return options;
}

}  // namespace xylem
