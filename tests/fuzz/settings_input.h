#pragma once
// One input of the settings fuzzer, also run over the corpus by tests/planner/tuning/tuning_options_test.cc:
// lines NAME=VALUE, as configuration files and the environment hold them. Any lines become Settings, and every
// stage's options, or throw InputError.
//
//   feedSettings(bytes);   // true if all lines were accepted as a configuration file

#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/interface_list.h"
#include "core/log.h"
#include "core/setting_values.h"
#include "core/settings.h"
#include "fuzz/require.h"
#include "planner/connect/connections.h"
#include "planner/paths/reach.h"
#include "planner/search/channel_search.h"
#include "planner/tuning/tuning_options.h"

namespace xylem {

inline void feedOptions(const Settings& settings) {
  for (const rules::Version& version : rules::kKnownVersions)
    paths::ReachOptions::from(settings, *rules::rulesOf(version));
  require(search::ChannelOptions::from(settings).crossNic >= 0);
  const connect::ConnectOptions connect = connect::ConnectOptions::from(settings);
  for (int searched : {1, 7, 32}) {
    const connect::ChannelCounts counts = connect::countChannels({searched, 2, 90, 50.0f}, connect.limits);
    require(counts.collective >= 1 && counts.collective <= counts.total() && counts.total() <= 64);
  }
  tuning::TuningOptions::from(settings);
  search::graphOptions({true, true}, settings);
  std::vector<std::string> unknown;
  parseSubsystems(settings.text(Setting::kDebugSubsys), &unknown);
  expandLogFileName(settings.text(Setting::kDebugFile), "host", 1);
  interfaceMatches(settings.text(Setting::kSocketIfname), "eth0");
}

// A setting that is set is in range, knows its origin, and means the same when it is set again.
inline void checkEntries(const Settings& settings) {
  for (const SettingSpec& row : settingSpecs()) {
    require(settings.isSet(row.id) == !settings.origin(row.id).empty());
    if (row.kind == SettingKind::kInteger)
      require(settings.integer(row.id) >= row.minimum && settings.integer(row.id) <= row.maximum);
    if (!settings.isSet(row.id)) continue;
    Settings again;
    again.set(row, settings.text(row.id), "again");
    // A value that is set was not ignored; at most it is odd.
    require(again.isSet(row.id));
    require(again.warnings().empty() == oddityOf(row.name, settings.text(row.id)).empty());
    require(again.integer(row.id) == settings.integer(row.id));
  }
}

inline void feedPairs(std::istringstream lines) {
  std::map<std::string, std::string> pairs;
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t equals = line.find('='); equals != std::string::npos)
      pairs.insert_or_assign(line.substr(0, equals), line.substr(equals + 1));
  try {
    const Settings settings = Settings::fromPairs(pairs);
    checkEntries(settings);
    feedOptions(settings);
  } catch (const InputError&) {
  }
}

inline bool feedSettings(std::string_view bytes) {
  feedPairs(std::istringstream(std::string(bytes)));
  try {
    Settings settings;
    std::istringstream lines{std::string(bytes)};
    settings.addLines(lines, "input.conf");
    checkEntries(settings);
    feedOptions(settings);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace xylem
