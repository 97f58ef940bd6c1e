#pragma once
// The test's net plugins, by version, and their faults.
//
//   const Faults faults{{"TEST_NET_SLOW", "20"}};
//   auto plugin = std::make_shared<NetPlugin>(testNetLibrary(8), log);

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plugins/net_plugin.h"

namespace xylem::plugins {

inline constexpr int kTestNetVersions[] = {6, 7, 8, 9, 10, 11, 12};

inline std::string testNetFile(int version) {
  return std::string(XYLEM_TEST_PLUGINS) + "/libnccl-net-test" + std::to_string(version) + ".so";
}

inline std::shared_ptr<const PluginLibrary> testNetLibrary(int version, const Logger& log) {
  return PluginLibrary::find({"NET/Plugin", "libnccl-net", testNetFile(version)}, log);
}

// The plugin's own name.
inline std::string testNetName(int version) {
  return "Test" + std::to_string(version / 10) + std::to_string(version % 10);
}

// Number of live objects of the plugin.
inline int testNetLiving(int version) {
  const SharedLibrary library(testNetFile(version));
  auto* living = library.function<int()>("testNetLiving");
  return living == nullptr ? -1 : living();
}

// For how many users it was initialised and not finalized; and which one connected last.
struct TestNetUsers {
  int contexts = 0;
  std::uint64_t communicator = 0;  // 0 before version 11
  int trafficClass = 0;
};
inline TestNetUsers testNetUsers(int version) {
  const SharedLibrary library(testNetFile(version));
  return {library.function<int()>("testNetContexts")(),
          library.function<std::uint64_t()>("testNetCommunicator")(),
          library.function<int()>("testNetTrafficClass")()};
}

// How often the plugin did something with memory of GPUs until now.
struct TestNetCounts {
  long gpuMemory = 0, dmaBufs = 0, flushes = 0;
};
inline TestNetCounts testNetCounts(int version) {
  const SharedLibrary library(testNetFile(version));
  const auto count = [&](const char* name) {
    auto* counted = library.function<long()>(name);
    return counted == nullptr ? -1 : counted();
  };
  return {count("testNetGpuMemory"), count("testNetDmaBufs"), count("testNetFlushes")};
}

// Number of reductions that its network has finished in this process.
inline long testCollReduced(int version) {
  const SharedLibrary library(testNetFile(version));
  auto* reduced = library.function<long()>("testCollReduced");
  return reduced == nullptr ? -1 : reduced();
}

// Sets faults for its lifetime; tests/runtime/plugins/net/faults.h lists them.
class Faults {
 public:
  Faults(std::initializer_list<std::pair<std::string, std::string>> set) : set_(set) {
    for (const auto& [name, value] : set_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Faults() {
    for (const auto& [name, value] : set_) unsetenv(name.c_str());
  }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> set_;
};

}  // namespace xylem::plugins
