#pragma once
// The events that the test's profiler plugin (profiler_plugin.cc) got, read from its lines.
//
//   ProfilerLibrary plugin(4);                                          // and NCCL_PROFILER_PLUGIN=profilerFile(4)
//   for (const auto& [event, told] : eventsIn(plugin.lines())) ...

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/shared_library.h"

namespace xylem::testing {

inline std::string profilerFile(int version) {
  return std::string(XYLEM_TEST_PLUGINS) + "/libnccl-profiler-test" + std::to_string(version) + ".so";
}

struct ProfilerState {
  int state = 0;
  std::size_t bytes = 0;
  int steps = 0;
};
struct ProfilerTold {
  std::string line;  // without the numbers of events
  std::string parent;
  std::vector<ProfilerState> states;
  bool stopped = false;
};

// Events by their numbers. Fails for a stop without a start, or a second stop.
inline std::map<int, ProfilerTold> eventsIn(const std::string& lines) {
  std::map<int, ProfilerTold> events;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word, of, parent;
    int event = 0;
    words >> word >> event;
    if (word == "start") {
      words >> of >> parent;
      std::getline(words >> std::ws, events[event].line);
      events[event].parent = parent;
      continue;
    }
    EXPECT_TRUE(events.count(event) == 1 && !events[event].stopped) << line;
    if (word == "state") {
      ProfilerState& state = events[event].states.emplace_back();
      words >> state.state >> state.bytes >> state.steps;
    } else {
      EXPECT_EQ(word, "stop") << line;
      events[event].stopped = true;
    }
  }
  return events;
}

// The plugin of a version, as tests ask it.
class ProfilerLibrary {
 public:
  explicit ProfilerLibrary(int version) : library_(profilerFile(version)) {}
  // Since the last call.
  std::string lines() const { return library_.function<const char*()>("testProfilerLines")(); }
  // Communicators that use it.
  int living() const { return library_.function<int()>("testProfilersLiving")(); }

 private:
  SharedLibrary library_;
};

// The mask of a profiler that wants to know when calls are at work on channels.
constexpr const char* kOnlyChannels = "64";

// Each call has as many events as it says, which begin before they end and have it as their parent. Returns the calls' lines
// with their number.
inline std::map<std::string, int> expectAllChannels(int version, const std::string& lines) {
  const std::map<int, ProfilerTold> events = eventsIn(lines);
  std::map<std::string, int> seen;
  std::map<int, std::set<std::string>> channelsOf;  // by the number of the call
  for (const auto& [event, told] : events) {
    EXPECT_TRUE(told.stopped) << told.line;
    const auto at = told.line.find(" channel ");
    if (at == std::string::npos) continue;
    std::istringstream words(told.line.substr(at));
    std::string word, channel;
    std::size_t begin = 0;
    words >> word >> channel >> word >> begin;
    channelsOf[std::atoi(told.parent.c_str())].insert(channel);
    if (version == 3) {
      EXPECT_TRUE(told.states.empty());
      continue;
    }
    EXPECT_EQ(told.states.size(), 1u) << told.line;
    if (told.states.size() != 1) continue;
    EXPECT_EQ(told.states[0].state, 22);
    EXPECT_GT(begin, 0u);
    EXPECT_GE(told.states[0].bytes, begin);
  }
  for (const auto& [event, told] : events) {
    const auto on = told.line.find(" on ");
    // Sends and receives of version 3 do not say how many channels they have.
    const bool isOldTransfer = version == 3 && told.line.find(" p2p ") != std::string::npos;
    if (on == std::string::npos && !isOldTransfer) continue;
    EXPECT_EQ(std::to_string(channelsOf[event].size()), isOldTransfer ? "1" : told.line.substr(on + 4))
        << told.line;
    ++seen[told.line.substr(7)];
    channelsOf.erase(event);
  }
  EXPECT_TRUE(channelsOf.empty()) << "of " << channelsOf.size() << " calls that were not told";
  return seen;
}

// The description of a ProxyOp event: `rank 0 op peer 1 channel 0 steps 2 sends`.
struct ProfilerPart {
  int rank = 0, peer = 0, channel = 0, steps = 0;
  bool sends = false;

  explicit ProfilerPart(const std::string& line) {
    std::istringstream words(line);
    std::string word, way;
    words >> word >> rank >> word >> word >> peer >> word >> channel >> word >> steps >> way;
    sends = way == "sends";
  }
};

// Each ProxyOp has as many steps as it says, in order, and each step goes through all its states. Returns how many parts there are.
inline int expectAllSteps(const std::map<int, ProfilerTold>& events) {
  std::map<int, int> stepsOf;  // by the number of the ProxyOp
  for (const auto& [event, told] : events) {
    EXPECT_TRUE(told.stopped) << event << " " << told.line;
    if (told.line.find(" step ") == std::string::npos) continue;
    const int op = std::atoi(told.parent.c_str());
    EXPECT_EQ(events.count(op), 1u) << told.line;
    if (events.count(op) == 0) continue;
    EXPECT_TRUE(told.line.ends_with(" step " + std::to_string(stepsOf[op]++))) << told.line;
    std::vector<int> states;
    for (const ProfilerState& state : told.states) states.push_back(state.state);
    const bool sends = ProfilerPart(events.at(op).line).sends;
    EXPECT_EQ(states, sends ? (std::vector<int>{8, 9}) : (std::vector<int>{10, 12})) << told.line;
  }
  int parts = 0;
  for (const auto& [event, told] : events) {
    if (told.line.find(" op ") == std::string::npos) continue;
    ++parts;
    EXPECT_EQ(stepsOf[event], ProfilerPart(told.line).steps) << told.line;
  }
  return parts;
}

}  // namespace xylem::testing
