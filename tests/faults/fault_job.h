#pragma once
// A job of a RankPool that loses a rank. The other ranks must name it, end their operations, and be able to
// go on in a communicator of their own.

#include <string>
#include <vector>

#include "faults/rank_pool.h"
#include "support/sanitizers.h"

namespace xylem::testing {

// A new id; its root is in this process.
std::string newIdHex();

class FaultJob {
 public:
  explicit FaultJob(RankPool& pool) : pool_(pool) {}

  // Makes every rank join; the id is empty if they meet by NCCL_COMM_ID.
  void startJoining(const std::string& id);
  // Collects the replies of the ranks besides `victim`, with their times since the strike. Ranks that have
  // not noticed it yet get the order to work until they do.
  void expectNamed(int victim, std::chrono::nanoseconds strike);
  // The ranks besides `victim` abort, join each other, sum up and leave. The victim is replaced.
  void goOnWithout(int victim);

  const std::vector<double>& reactions() const { return reactions_; }  // milliseconds
  const std::vector<double>& aborts() const { return aborts_; }
  const std::string& lastText() const { return lastText_; }

 private:
  std::vector<int> allBut(int victim) const;

  RankPool& pool_;
  std::vector<double> reactions_, aborts_;
  std::string lastText_;
};

}  // namespace xylem::testing
