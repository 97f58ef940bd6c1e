#pragma once
// Ranks as threads over nccl.h; each uses the device of its number.
//
//   const Variables variables{{"NCCL_ALGO", "Ring"}};
//   const auto results = runRanks(3, [](int rank, ncclComm_t comm) { ... });

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nccl.h"

namespace xylem::testing {

// Sets variables for one test, beside two that all tests need: the loopback, so that the machine's network
// does not matter, and enough devices.
class Variables {
 public:
  Variables(std::initializer_list<std::pair<std::string, std::string>> set)
      : set_{{"NCCL_SOCKET_IFNAME", "lo"}, {"XYLEM_HOST_DEVICES", "16"}} {
    set_.insert(set_.end(), set.begin(), set.end());
    for (const auto& [name, value] : set_) {
      const char* const before = std::getenv(name.c_str());
      before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  // ctest sets some of them, too.
  ~Variables() {
    for (auto saved = before_.rbegin(); saved != before_.rend(); ++saved)
      if (saved->second)
        setenv(saved->first.c_str(), saved->second->c_str(), 1);
      else
        unsetenv(saved->first.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> set_;
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

struct RankResult {
  ncclResult_t init = ncclSuccess;
  std::string text;
};

inline std::vector<RankResult> runRanks(int ranks, const std::function<void(int rank, ncclComm_t)>& work) {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<RankResult> results(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      RankResult& result = results[static_cast<std::size_t>(rank)];
      cudaSetDevice(rank);
      ncclComm_t comm = nullptr;
      result.init = ncclCommInitRank(&comm, ranks, id, rank);
      result.text = ncclGetLastError(nullptr);
      if (result.init != ncclSuccess) return;
      work(rank, comm);
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

inline void expectAllJoined(const std::vector<RankResult>& results) {
  for (const RankResult& result : results) EXPECT_EQ(result.init, ncclSuccess) << result.text;
}

}  // namespace xylem::testing
