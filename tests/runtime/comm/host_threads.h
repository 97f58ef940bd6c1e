#pragma once
// Ranks as threads that act as ranks of several hosts.
//
//   const auto results = runOnHosts(2, 3, [](int rank, ncclComm_t comm) { ... });   // ranks 0-2, ranks 3-5
//
// A function that ends its communicator itself sets it to null.

#include <barrier>
#include <mutex>

#include "runtime/comm/rank_threads.h"

namespace xylem::testing {

// `setDevice` chooses the device of the calling thread.
inline std::vector<RankResult> runOnHosts(
    int hosts, int perHost, const std::function<void(int rank, ncclComm_t&)>& work,
    const std::function<void(int rank)>& setDevice = [](int rank) { cudaSetDevice(rank); }) {
  // Set before other threads read the environment: setenv may move it when it adds a variable, not when it replaces one.
  setenv("NCCL_HOSTID", "host-0", 1);
  std::mutex environment;
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<RankResult> results(static_cast<std::size_t>(hosts * perHost));
  std::barrier called(hosts * perHost);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < hosts * perHost; ++rank)
    threads.emplace_back([&, rank] {
      RankResult& result = results[static_cast<std::size_t>(rank)];
      ncclComm_t comm = nullptr;
      ncclGroupStart();
      {
        // The call reads the variables; inside of a group it does not wait.
        const std::lock_guard lock(environment);
        setDevice(rank);
        setenv("NCCL_HOSTID", ("host-" + std::to_string(rank / perHost)).c_str(), 1);
        result.init = ncclCommInitRank(&comm, hosts * perHost, id, rank);
      }
      // Work in the background reads variables, too.
      called.arrive_and_wait();
      if (const ncclResult_t end = ncclGroupEnd(); result.init == ncclSuccess) result.init = end;
      result.text = ncclGetLastError(nullptr);
      if (result.init != ncclSuccess) {
        EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
        return;
      }
      work(rank, comm);
      if (comm != nullptr) {
        EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
      }
    });
  for (std::thread& thread : threads) thread.join();
  unsetenv("NCCL_HOSTID");
  return results;
}

}  // namespace xylem::testing
