#pragma once
// The store of a launcher that speaks PMI-1 (MPICH's and Intel MPI's mpiexec, Slurm's srun --mpi=pmi2): lines
// of text over a socket that the process inherited. The server reckons with one conversation per process, and
// with its end.
//
//   PmiClient store(fd, timeout);
//   if (rank == 0) store.put("id", text);
//   store.barrier();
//   text = store.get("id");
//   store.finish();

#include <chrono>
#include <map>
#include <string>

namespace xylem {

class PmiClient {
 public:
  // The longest value that every server takes, in bytes.
  static constexpr std::size_t kMostBytes = 1023;

  // Takes up the conversation over `socket`, which stays the caller's. `timeout` is for answers that depend
  // on nobody else; a barrier takes as long as the others do. All members throw Error.
  PmiClient(int socket, std::chrono::seconds timeout);

  // Neither may have spaces in it.
  void put(const std::string& key, const std::string& value);
  // Returns when all processes of the job have come here.
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

}  // namespace xylem
