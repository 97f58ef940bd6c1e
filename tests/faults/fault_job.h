#pragma once
// A job of a RankPool that loses a rank: whoever is left must say who it was, end what it has, and be able to
// go on in a communicator of its own.

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

  // Every rank is told to join; the id is empty if they meet by NCCL_COMM_ID.
  void startJoining(const std::string& id);
  // Waits for what the ranks besides `victim` say, and for how long after the strike that is. Those who have
  // not heard of it yet are told to work until they do.
  void expectNamed(int victim, std::chrono::nanoseconds strike);
  // Those besides `victim` abort, join each other, sum up and leave. The victim is replaced.
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
