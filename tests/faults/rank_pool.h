#pragma once
// Ranks as processes that follow commands, line by line, so that a test can kill or stop one of them at any
// point and ask the others what they saw. Each process is this test program again.
//
//   RankPool pool(3);
//   pool.tell(2, "strike 17 9");                  // at its 17th fault point; see rank_role.cc for the words
//   pool.tellAll("join 3 " + id);
//   const Reply reply = pool.reply(0);             // "failed 6 <nanoseconds> rank 2 ended while ..."
//   pool.renew(2);                                 // a fresh process in the place of the dead one
//
// All waits have a limit: a rank that does not answer in time fails the test.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/file_descriptor.h"

namespace xylem::testing {

// Far more than any command takes, for loaded machines and sanitizers.
constexpr std::chrono::seconds kBound{20};

struct Reply {
  std::string word;             // "joined", "failed", ...; "ended" if the process did
  int code = 0;                 // of "failed": ncclResult_t
  std::chrono::nanoseconds at;  // when that was, by the steady clock of the host
  std::string text;             // the rest
};

// Environment variables of every rank.
using Environment = std::map<std::string, std::string>;

class RankPool {
 public:
  explicit RankPool(int ranks, const Environment& variables = {});
  // Ends processes that still run.
  ~RankPool();
  RankPool(const RankPool&) = delete;
  RankPool& operator=(const RankPool&) = delete;

  int size() const { return static_cast<int>(processes_.size()); }
  void tell(int rank, const std::string& line);
  Reply reply(int rank);
  Reply ask(int rank, const std::string& line) { return tell(rank, line), reply(rank); }

  // The time when a signal killed or stopped the rank; nothing if it answers first.
  std::optional<std::chrono::nanoseconds> awaitStrike(int rank);
  void signal(int rank, int number) const;
  // Ends the process and starts another one.
  void renew(int rank);

 private:
  struct Process {
    pid_t pid = -1;
    FileDescriptor control;
    std::string unread;
  };
  void start(int rank);
  bool struck(const Process& process) const;
  void end(Process& process);

  Environment variables_;
  std::vector<Process> processes_;
};

// Formats reaction times in milliseconds: their number, the median and the longest.
std::string summary(std::vector<double> milliseconds);

// Returns whether `text` names the rank: as "rank 2", not as "rank 21".
bool names(const std::string& text, int rank);

}  // namespace xylem::testing
