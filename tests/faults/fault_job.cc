#include "faults/fault_job.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "nccl.h"
#include "runtime/comm/rank_processes.h"

namespace xylem::testing {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

}  // namespace

std::string newIdHex() {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
  return hexOf(id);
}

std::vector<int> FaultJob::allBut(int victim) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < pool_.size(); ++rank)
    if (rank != victim) ranks.push_back(rank);
  return ranks;
}

void FaultJob::startJoining(const std::string& id) {
  for (int rank = 0; rank < pool_.size(); ++rank)
    pool_.tell(rank, fmt::format("join {} {} {}", rank, pool_.size(), id));
}

void FaultJob::expectNamed(int victim, std::chrono::nanoseconds strike) {
  std::map<int, Reply> replies;
  for (const int rank : allBut(victim)) {
    replies[rank] = pool_.reply(rank);
    // Ranks that are done before it happens notice it in their next operation.
    if (replies[rank].word == "joined") pool_.tell(rank, "work AllReduce 1000");
  }
  for (auto& [rank, reply] : replies) {
    if (reply.word == "joined") reply = pool_.reply(rank);
    EXPECT_EQ(reply.word, "failed") << "rank " << rank;
    EXPECT_EQ(reply.code, ncclRemoteError) << "rank " << rank << ": " << reply.text;
    EXPECT_TRUE(names(reply.text, victim)) << "rank " << rank << ": " << reply.text;
    reactions_.push_back(Milliseconds(reply.at - strike).count());
    lastText_ = reply.text;
  }
}

void FaultJob::goOnWithout(int victim) {
  const std::vector<int> left = allBut(victim);
  const std::string id = newIdHex();
  for (const int rank : left) {
    const auto start = std::chrono::steady_clock::now().time_since_epoch();
    const Reply reply = pool_.ask(rank, "abort");
    EXPECT_EQ(reply.word, "aborted") << "rank " << rank;
    EXPECT_EQ(reply.code, ncclSuccess) << "rank " << rank;
    EXPECT_EQ(reply.text, "") << "rank " << rank;
    aborts_.push_back(Milliseconds(reply.at - start).count());
  }
  pool_.renew(victim);
  for (const int rank : left)
    for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"}) pool_.ask(rank, fmt::format("unset {}", name));
  for (std::size_t i = 0; i < left.size(); ++i)
    pool_.tell(left[i], fmt::format("join {} {} {}", i, left.size(), id));
  for (const int rank : left) {
    const Reply reply = pool_.reply(rank);
    EXPECT_EQ(reply.word, "joined") << "rank " << rank << ": " << reply.text;
    pool_.tell(rank, "sum");
  }
  for (const int rank : left) {
    const Reply reply = pool_.reply(rank);
    EXPECT_EQ(reply.word, "summed") << "rank " << rank << ": " << reply.text;
    pool_.tell(rank, "destroy");
  }
  for (const int rank : left) EXPECT_EQ(pool_.reply(rank).word, "destroyed") << "rank " << rank;
}

}  // namespace xylem::testing
