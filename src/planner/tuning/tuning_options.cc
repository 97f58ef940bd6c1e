#include "planner/tuning/tuning_options.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/settings.h"

namespace xylem::tuning {
namespace {

constexpr double kMicrosecondsPerNanosecond = 0.001;
constexpr std::int64_t kNotSet = -2;  // NCCL's default of variables that it computes

// Returns the parts between separators, without empty ones.
std::vector<std::string> splitText(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool equalIgnoringCase(const std::string& a, const char* b) { return strcasecmp(a.c_str(), b) == 0; }

class UserListParser {
 public:
  UserListParser(std::span<const char* const> names, const std::string& origin)
      : names_(names), origin_(origin) {}

  UserList parse(std::string_view text) {
    const std::vector<std::string> entries = splitText(text, ';');
    if (entries.empty()) fail(text, "a list of names");
    for (std::size_t i = 0; i < entries.size(); ++i) parseEntry(entries[i], i == 0);
    return list_;
  }

 private:
  void parseEntry(const std::string& entry, bool first) {
    const std::vector<std::string> parts = splitText(entry, ':');
    if (parts.empty() || parts.size() > 2) fail(entry, "[collective:]names");
    if (parts.size() == 1 && !first)
      fail(entry, "a collective before the names (only the first entry may leave it out)");
    const std::vector<bool> wanted = parseNames(parts.back());
    bool found = false;
    for (const Collective collective : kAllCollectives) {
      if (parts.size() == 2 && !equalIgnoringCase(parts.front(), name(collective))) continue;
      list_[collective] = wanted;
      found = true;
    }
    if (!found) fail(parts.front(), "Broadcast, Reduce, AllGather, ReduceScatter or AllReduce");
  }

  std::vector<bool> parseNames(const std::string& text) {
    const bool except = text.front() == '^';
    std::vector<bool> wanted(names_.size(), except);
    for (const std::string& word : splitText(std::string_view(text).substr(except ? 1 : 0), ',')) {
      const auto known = std::find_if(names_.begin(), names_.end(),
                                      [&](const char* name) { return equalIgnoringCase(word, name); });
      if (known == names_.end()) fail(word, fmt::format("one of {}", fmt::join(names_, ", ")));
      wanted[static_cast<std::size_t>(known - names_.begin())] = !except;
    }
    return wanted;
  }

  [[noreturn]] void fail(std::string_view found, const std::string& expected) const {
    throw InputError({origin_, 0}, fmt::format("`{}`", found), expected);
  }

  std::span<const char* const> names_;
  const std::string& origin_;
  UserList list_;
};

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

// Up to six numbers, separated by blanks: LL, LL128 and Simple of Tree, then of Ring. A negative number keeps
// the default.
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

UserList parseUserList(std::string_view text, std::span<const char* const> names, const std::string& origin) {
  return UserListParser(names, origin).parse(text);
}

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

}  // namespace xylem::tuning
