#pragma once
// A client of the key-value store of launchers that speak PMI-1 (the mpiexec of MPICH and of Intel MPI,
// Slurm's srun --mpi=pmi2): lines of text over a socket that the process inherited. The server allows each
// process one session, which has to end with finish().
//
//   PmiClient store(fd, timeout);
//   if (rank == 0) store.put("id", text);
//   store.barrier();
//   text = store.get("id");
//   store.finish();

#include <chrono>
#include <map>
#include <string>

namespace xylem::launch {

class PmiClient {
 public:
  // Starts the session over `socket`, which stays the caller's. `timeout` limits each answer of the server; a
  // barrier has no limit, as it waits for the other processes. All members throw Error.
  PmiClient(int socket, std::chrono::seconds timeout);

  // Neither may contain spaces.
  void put(const std::string& key, const std::string& value);
  // Returns when all processes of the job have called it.
  void barrier();
  std::string get(const std::string& key);
  void finish();

 private:
  using Reply = std::map<std::string, std::string, std::less<>>;
  // Waits without a limit if `timeout` is 0.
  Reply ask(const std::string& request, const std::string& answer, std::chrono::seconds timeout);
  std::string readLine(std::chrono::seconds timeout);

  int socket_;
  std::chrono::seconds timeout_;
  std::string received_, store_;
};

}  // namespace xylem::launch
