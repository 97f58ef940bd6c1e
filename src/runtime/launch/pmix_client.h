#pragma once
// A client of the key-value store of launchers that speak PMIx (Open MPI's mpirun, PRRTE's prun, srun
// --mpi=pmix). It loads the PMIx library when it is first used, so the library need not be installed.
//
//   PmixClient store;                       // PMIx_Init, and the destructor PMIx_Finalize
//   if (rank == 0) store.put("id", text);
//   store.barrier();
//   text = store.get("id", 0);
//
// A process keeps one client from its first question until all ranks have met. If it ended one and started
// another, the server could see the end late, take the process for gone and fail the barriers that wait for
// it.

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/launch/launched_process.h"

namespace xylem::launch {

class PmixClient {
 public:
  // True if the environment names a PMIx server.
  static bool isOffered(const Environment& environment);
  // True if, in addition, the library can be loaded.
  static bool isUsable(const Environment& environment);

  // The client that the process keeps. Null before the first question, and after the client has been moved
  // out.
  static std::unique_ptr<PmixClient>& kept();

  // The constructor and all members below throw Error.
  PmixClient();
  ~PmixClient();
  PmixClient(const PmixClient&) = delete;
  PmixClient& operator=(const PmixClient&) = delete;

  LaunchedProcess process() const;
  void put(const std::string& key, const std::string& value);
  // Returns when all processes of the job have called it; then the values that they have put can be read.
  void barrier();
  // The value that process `rank` has put.
  std::string get(const std::string& key, int rank) const;

 private:
  int number(const char* key, std::uint32_t rank) const;
};

}  // namespace xylem::launch
