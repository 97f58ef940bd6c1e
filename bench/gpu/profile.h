#pragma once
// A profiler plugin's events of calls at work on the channels of a GPU, and of the steps that they take over a network.
// NCCL_PROFILER_PLUGIN names the plugin of the tests (tests/runtime/plugins/profiler), whose lines are read here; TEST_PROFILER_MASK=66
// makes it want calls and their channels, 24 parts of calls and their steps.

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "results.h"
#include "team.h"

// A call at work, by the GPU's clock: nanoseconds.
struct ProfiledCall {
  int rank = -1;
  int channels = 0;
  std::uint64_t began = UINT64_MAX, ended = 0;
};

// Calls by their numbers, which grow.
inline std::map<int, ProfiledCall> profiledCalls(const std::string& lines) {
  std::map<int, ProfiledCall> calls;
  std::map<int, int> callOf;  // by channel events
  std::istringstream in(lines);
  for (std::string line, word; std::getline(in, line);) {
    std::istringstream words(line);
    int event = 0, of = 0, rank = 0, channel = 0, state = 0;
    std::uint64_t at = 0;
    std::string kind, what;
    words >> kind >> event;
    if (kind == "start" && words >> word >> of >> word >> rank >> what && what == "channel") {
      words >> channel >> word >> at;
      ProfiledCall& call = calls[of];
      call.rank = rank;
      ++call.channels;
      call.began = std::min(call.began, at);
      callOf[event] = of;
    } else if (kind == "state" && words >> state >> at && callOf.count(event) != 0) {
      ProfiledCall& call = calls[callOf[event]];
      call.ended = std::max(call.ended, at);
    }
  }
  return calls;
}

inline void fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(1);
}

// The lines that the plugin has written since the last call.
using ProfilerLines = const char* (*)();
inline ProfilerLines profilerLines() {
  const char* const file = std::getenv("NCCL_PROFILER_PLUGIN");
  void* const plugin = file == nullptr ? nullptr : dlopen(file, RTLD_NOW);
  auto* const lines =
      plugin == nullptr ? nullptr : reinterpret_cast<ProfilerLines>(dlsym(plugin, "testProfilerLines"));
  if (lines == nullptr) fail("NCCL_PROFILER_PLUGIN has to name the tests' profiler plugin");
  return lines;
}

// AllReduces and messages of 4 MiB between hosts: each rank checks that every part of a call has as many steps as it says, all of
// which have ended.
inline void checkSteps(Rank& rank) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  constexpr int kCalls = 8;
  const ProfilerLines lines = profilerLines();
  auto *const data = deviceMemory(kBytes), *const other = deviceMemory(kBytes);
  CUDA(cudaMemsetAsync(data, 0, kBytes, rank.stream));
  rank.await();
  rank.meet();
  for (int i = 0; i < kCalls; ++i) {
    NCCL(ncclAllReduce(data, data, kBytes / 4, ncclFloat, ncclSum, rank.comm, rank.stream));
    NCCL(ncclGroupStart());
    NCCL(ncclSend(data, kBytes, ncclChar, (rank.rank + 1) % rank.ranks, rank.comm, rank.stream));
    NCCL(
        ncclRecv(other, kBytes, ncclChar, (rank.rank + rank.ranks - 1) % rank.ranks, rank.comm, rank.stream));
    NCCL(ncclGroupEnd());
  }
  rank.await();
  NCCL(ncclCommFinalize(rank.comm));  // the plugin gets the last events
  std::map<int, int> missing;         // steps, by the number of their part
  std::map<int, bool> open;           // by the number of an event
  int parts = 0, steps = 0;
  std::istringstream in(lines());
  for (std::string line, word; std::getline(in, line);) {
    std::istringstream words(line);
    int event = 0, of = 0, number = 0;
    std::string kind, what;
    words >> kind >> event;
    if (kind == "stop") open[event] = false;
    if (kind != "start") continue;
    open[event] = true;
    words >> word >> of >> word >> number >> what;
    if (what == "op") {
      ++parts;
      words >> word >> number >> word >> number >> word >> number;  // peer, channel, steps
      missing[event] += number;
    } else if (what == "step") {
      ++steps;
      --missing[of];
    }
  }
  for (const auto& [part, left] : missing)
    if (left != 0) fail("a part of a call lacks " + std::to_string(left) + " of its steps");
  for (const auto& [event, isOpen] : open)
    if (isOpen) fail("event " + std::to_string(event) + " has not ended");
  if (parts < 4 * kCalls) fail("only " + std::to_string(parts) + " parts of calls were told");
  std::printf("rank %d: %d parts of calls with %d steps over the network\n", rank.rank, parts, steps);
  rank.meet();
  CUDA(cudaFree(data));
  CUDA(cudaFree(other));
}

// AllReduces of 64 MiB: rank 0 checks that each has times, and that those of a rank follow each other, and prints the medians.
inline void checkProfile(Rank& rank) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr int kCalls = 16;
  const ProfilerLines lines = profilerLines();
  auto* const data = deviceMemory(kBytes);
  CUDA(cudaMemsetAsync(data, 0, kBytes, rank.stream));
  rank.await();
  rank.meet();
  for (int i = 0; i < kCalls; ++i)
    NCCL(ncclAllReduce(data, data, kBytes / 4, ncclFloat, ncclSum, rank.comm, rank.stream));
  rank.await();
  NCCL(ncclCommFinalize(rank.comm));  // the plugin gets the last events
  rank.meet();
  if (rank.rank == 0) {
    std::map<int, std::vector<ProfiledCall>> byRank;
    for (const auto& [number, call] : profiledCalls(lines())) byRank[call.rank].push_back(call);
    for (int r = 0; r < rank.ranks; ++r) {
      const std::vector<ProfiledCall>& calls = byRank[r];
      if (calls.size() != kCalls)
        fail("rank " + std::to_string(r) + ": " + std::to_string(calls.size()) + " calls were told");
      std::vector<std::uint64_t> works, gaps;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (calls[i].began == 0 || calls[i].ended <= calls[i].began) fail("a call ends before it begins");
        if (i > 0 && calls[i].began < calls[i - 1].ended)
          fail("a call begins before the one before has ended");
        works.push_back(calls[i].ended - calls[i].began);
        if (i > 0) gaps.push_back(calls[i].began - calls[i - 1].ended);
      }
      std::sort(works.begin(), works.end());
      std::sort(gaps.begin(), gaps.end());
      std::printf("rank %d: AllReduce of 64 MiB on %d channels: at work for %.1f us, %.1f us between calls\n",
                  r, calls[0].channels, 1e-3 * static_cast<double>(works[works.size() / 2]),
                  1e-3 * static_cast<double>(gaps[gaps.size() / 2]));
    }
  }
  rank.meet();
  CUDA(cudaFree(data));
}
