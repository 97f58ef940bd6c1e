#pragma once
// The store of a launcher that speaks PMIx (Open MPI's mpirun, PRRTE's prun, srun --mpi=pmix), through its
// client library: loaded when it is used, so that nothing needs it installed.
//
//   PmixClient store;                       // PMIx_Init, and the destructor PMIx_Finalize
//   if (rank == 0) store.put("id", text);
//   store.barrier();
//   text = store.get("id", 0);
//
// From its first question until the ranks have met a process stays one client: that one ends and the next
// begins may reach the server late, which then takes the process for gone and fails the barriers that wait
// for it.

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/launch/launched_process.h"

namespace xylem {

class PmixClient {
 public:
  // A server has said where it is.
  static bool isOffered(const Environment& environment);
  // The library is there, too.
  static bool isUsable(const Environment& environment);

  // Where a process keeps the client that it asked first; none before, and once somebody has taken it.
  static std::unique_ptr<PmixClient>& kept();

  // All throw Error.
  PmixClient();
  ~PmixClient();
  PmixClient(const PmixClient&) = delete;
  PmixClient& operator=(const PmixClient&) = delete;

  LaunchedProcess process() const;
  void put(const std::string& key, const std::string& value);
  // Returns when all processes of the job have come here, with what they have put.
  void barrier();
  // What process `rank` has put.
  std::string get(const std::string& key, int rank) const;

 private:
  int number(const char* key, std::uint32_t rank) const;
};

}  // namespace xylem
