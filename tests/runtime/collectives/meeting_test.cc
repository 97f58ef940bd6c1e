// How ranks meet: how far they run ahead of each other, and what they find out if they call different operations.

#include <gmock/gmock.h>

#include <cstdint>
#include <random>
#include <vector>

#include "core/error.h"
#include "runtime/collectives/exchange_job.h"

namespace xylem::collectives {
namespace {

using namespace ::testing;
using testing::Buffers;
using testing::buffersOf;
using testing::ExchangeJob;
using testing::Reach;
using testing::sumOf;
using Outcome = DirectExchange::Outcome;

class MeetingOf : public TestWithParam<int> {};

TEST_P(MeetingOf, ARootRunsAheadOnlyAsFarAsThereAreSlots) {
  ExchangeJob job(GetParam());
  std::vector<std::int64_t> data(4);
  Buffers results(static_cast<std::size_t>(job.ranks()), data);
  const auto broadcast = [&](int rank) {
    DirectWork work = sumOf(rank == 0 ? data : results[static_cast<std::size_t>(rank)], job.ranks());
    work.function = Function::kBroadcast;
    job[rank].start(work);
  };
  int ahead = 0;
  for (;; ++ahead) {
    data.assign(4, ahead);
    broadcast(0);
    if (job[0].step() != Outcome::kDone) break;
  }
  EXPECT_EQ(ahead, static_cast<int>(transport::kMailboxSlots));
  EXPECT_GT(job[0].waitsFor(), 0);
  for (int number = 0; number <= ahead; ++number)
    for (int rank = 1; rank < job.ranks(); ++rank) {
      broadcast(rank);
      while (job[rank].step() != Outcome::kDone) {
        // Only the last one is missing, until all others have left the one whose slot it takes.
        ASSERT_EQ(number, ahead);
        job[0].step();
      }
      EXPECT_EQ(results[static_cast<std::size_t>(rank)][0], number);
    }
}

TEST_P(MeetingOf, RanksThatDataIsBroughtToCountMostOperationsLater) {
  for (const Function function : {Function::kBroadcast, Function::kReduce}) {
    ExchangeJob job(GetParam());
    Buffers buffers = buffersOf(job.ranks(), 4);
    const auto run = [&](Function called) {
      for (int rank = 0; rank < job.ranks(); ++rank) {
        DirectWork work = sumOf(buffers[static_cast<std::size_t>(rank)], job.ranks());
        work.function = called;
        job[rank].start(work);
      }
      ASSERT_THAT(job.finish(1), Each(Outcome::kDone));
    };
    const std::uint64_t most = transport::kMostUntold;
    for (std::uint64_t number = 1; number <= 2 * most + 2; ++number) {
      run(function);
      for (int rank = 0; rank < job.ranks(); ++rank) {
        const bool brings = (rank == 0) == (function == Function::kBroadcast);
        EXPECT_EQ(job.mailbox(rank).left, brings ? number : number / (most + 1) * (most + 1));
        // The root of a Reduce posts, too: by that ranks find out that they called different operations.
        EXPECT_EQ(job.mailbox(rank).slot(number).number, brings || rank == 0 ? number : 0);
      }
    }
    run(function);
    run(Function::kAllReduce);
    for (int rank = 0; rank < job.ranks(); ++rank) EXPECT_EQ(job.mailbox(rank).left, 2 * most + 4);
  }
}

struct RowStep {
  Function function;  // that may be done in place
  std::size_t count;
  int root;
};

// Does to the buffers of all ranks what the operation does. Sums wrap around.
void apply(const RowStep& call, Buffers& buffers) {
  const auto root = static_cast<std::size_t>(call.root);
  for (std::size_t i = 0; i < call.count; ++i) {
    std::uint64_t result = 0;
    for (const auto& buffer : buffers) result += static_cast<std::uint64_t>(buffer[i]);
    if (call.function == Function::kBroadcast) result = static_cast<std::uint64_t>(buffers[root][i]);
    for (std::size_t rank = 0; rank < buffers.size(); ++rank)
      if (call.function != Function::kReduce || rank == root)
        buffers[rank][i] = static_cast<std::int64_t>(result);
  }
}

// However far a rank is ahead and whatever comes next, it does not wait for what another one has done and not counted, and gets
// the data of its own operation.
void runRowsOfOperations(int ranks) {
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 4; ++repeat) {
    ExchangeJob job(ranks, repeat % 2 == 0 ? Reach::kAll : Reach::kNone);
    constexpr Function kFunctions[] = {Function::kBroadcast, Function::kReduce, Function::kAllReduce};
    // In descriptors, areas of each kind, and the ring.
    constexpr std::size_t kCounts[] = {1, 4, 60, 200, 500, 3000};
    std::vector<RowStep> calls;
    for (int row = 0; row < 20; ++row) {
      const RowStep call{kFunctions[random() % 3], kCounts[random() % 6],
                         static_cast<int>(random() % static_cast<unsigned>(ranks))};
      calls.insert(calls.end(), random() % 40, call);
    }
    Buffers buffers = buffersOf(job.ranks(), 3000), expected = buffers;
    for (const RowStep& call : calls) apply(call, expected);
    std::vector<std::size_t> begun(buffers.size(), 0);
    std::vector<bool> busy(buffers.size(), false);
    std::size_t through = 0;
    for (int steps = 0; steps < 200000 && through < buffers.size(); ++steps) {
      // One rank goes on as far as it can.
      const std::size_t rank = random() % buffers.size();
      for (Outcome outcome = Outcome::kDone; outcome != Outcome::kWouldBlock;) {
        if (!busy[rank]) {
          if (begun[rank] == calls.size()) break;
          const RowStep& call = calls[begun[rank]++];
          DirectWork work = sumOf(buffers[rank], job.ranks());
          work.function = call.function;
          work.count = call.count;
          work.root = call.root;
          job[static_cast<int>(rank)].start(work);
          busy[rank] = true;
        }
        outcome = job[static_cast<int>(rank)].step();
        if (outcome != Outcome::kDone) continue;
        busy[rank] = false;
        if (begun[rank] == calls.size()) ++through;
      }
    }
    ASSERT_EQ(through, buffers.size()) << "in repetition " << repeat;
    EXPECT_TRUE(buffers == expected) << "in repetition " << repeat;
  }
}

TEST_P(MeetingOf, RanksComeThroughAnyRowOfOperationsAtTheirOwnPace) { runRowsOfOperations(GetParam()); }

// They share a Reduce of 4 KiB in two meetings that take areas of which there are fewest.
TEST(Meeting, ManyRanksComeThroughAnyRowOfOperationsAtTheirOwnPace) { runRowsOfOperations(16); }

INSTANTIATE_TEST_SUITE_P(Ranks, MeetingOf, Values(2, 3, 5, 8));

TEST(Meeting, DifferentCallsAreNamed) {
  ExchangeJob job(2);
  Buffers buffers = buffersOf(2, 4);
  DirectWork other = sumOf(buffers[1], 2);
  other.count = 3;
  job[0].start(sumOf(buffers[0], 2));
  job[1].start(other);
  EXPECT_EQ(job[0].step(), Outcome::kWouldBlock);
  EXPECT_EQ(job[0].waitsFor(), 1);
  try {
    job[1].step();
    FAIL() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("rank 0 AllReduce of 4 int64"), HasSubstr("rank 1 AllReduce of 3 int64")));
  }
}

// Inline, staged in an area or in the ring, or in buffers: a call that goes another way is found by both ranks.
TEST(Meeting, CallsThatGoOtherWaysAreNamed) {
  Buffers buffers = buffersOf(2, 40000);
  for (const Reach reach : {Reach::kAll, Reach::kNone})
    for (const std::size_t mine : {4, 20, 50, 300, 40000})
      for (const std::size_t theirs : {4, 20, 50, 300, 40000}) {
        if (mine == theirs) continue;
        ExchangeJob job(2, reach);
        const std::size_t counts[] = {mine, theirs};
        for (int rank = 0; rank < 2; ++rank) {
          DirectWork work = sumOf(buffers[static_cast<std::size_t>(rank)], 2);
          work.count = counts[rank];
          job[rank].start(work);
        }
        EXPECT_EQ(job[0].step(), Outcome::kWouldBlock);
        EXPECT_THROW(job[1].step(), Error) << mine << " and " << theirs;
        EXPECT_THROW(job[0].step(), Error) << mine << " and " << theirs;
      }
}

// Data is brought to both, and neither would wait for the other's if the root of a Reduce did not post.
TEST(Meeting, DifferentRootsAreNamed) {
  ExchangeJob job(2);
  Buffers buffers = buffersOf(2, 4);
  for (int rank = 0; rank < 2; ++rank) {
    DirectWork work = sumOf(buffers[static_cast<std::size_t>(rank)], 2);
    work.function = Function::kReduce;
    work.root = rank;
    job[rank].start(work);
  }
  EXPECT_EQ(job[0].step(), Outcome::kWouldBlock);
  EXPECT_THROW(job[1].step(), Error);
}

}  // namespace
}  // namespace xylem::collectives
