// Many collectives in one exchange: any mix of them, among ranks that arrive in any order.

#include <gmock/gmock.h>

#include <random>

#include "core/error.h"
#include "runtime/collectives/exchange_job.h"

namespace xylem::testing {
namespace {

using namespace ::testing;

// The calls of one group, which all ranks make, each with buffers of its own.
class Calls {
 public:
  Calls(int ranks, int calls, unsigned seed) : buffers_(static_cast<std::size_t>(ranks)) {
    std::mt19937 random(seed);
    for (int i = 0; i < calls; ++i) {
      const Function function = kAllCollectives[random() % kAllCollectives.size()];
      const std::size_t count = 1 + random() % (random() % 4 == 0 ? 200 : 20);
      const int root = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const bool inPlace = random() % 2 == 0;
      for (int rank = 0; rank < ranks; ++rank) add(function, count, root, inPlace, rank, ranks);
    }
    for (RankBuffers& buffers : buffers_)
      for (std::size_t i = 0; i < buffers.works.size(); ++i) {
        buffers.works[i].input = reinterpret_cast<const std::byte*>(buffers.input[i].data());
        std::vector<std::int64_t>& output = buffers.output[i];
        // In place, as NCCL defines it.
        const collectives::DirectWork& work = buffers.works[i];
        std::vector<std::int64_t>& input = buffers.input[i];
        const auto rank = static_cast<std::size_t>(&buffers - buffers_.data());
        if (!output.empty())
          buffers.works[i].output = reinterpret_cast<std::byte*>(output.data());
        else
          buffers.works[i].output = reinterpret_cast<std::byte*>(
              input.data() + (work.function == Function::kReduceScatter ? rank * work.count : 0));
        if (work.function == Function::kAllGather && output.empty())
          buffers.works[i].input = reinterpret_cast<const std::byte*>(input.data() + rank * work.count);
      }
  }

  std::span<const collectives::DirectWork> of(int rank) const {
    return buffers_[static_cast<std::size_t>(rank)].works;
  }

  void expectResults() const {
    const auto ranks = static_cast<int>(buffers_.size());
    for (int rank = 0; rank < ranks; ++rank)
      for (const collectives::DirectWork& work : of(rank)) {
        if (work.function == Function::kReduce && rank != work.root) continue;
        const auto* got = reinterpret_cast<const std::int64_t*>(work.output);
        const std::size_t n = work.count * (work.function == Function::kAllGather ? buffers_.size() : 1);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(got[i], wanted(work, rank, ranks, i)) << name(work.function) << " of " << work.count;
      }
  }

 private:
  struct RankBuffers {
    std::vector<collectives::DirectWork> works;
    std::vector<std::vector<std::int64_t>> input, output;
  };

  static std::int64_t valueOf(std::int64_t rank, std::size_t i) {
    return 100000 * rank + static_cast<std::int64_t>(i);
  }
  static std::int64_t sumAt(std::int64_t ranks, std::size_t i) {
    return 100000 * (ranks * (ranks - 1) / 2) + ranks * static_cast<std::int64_t>(i);
  }
  static std::int64_t wanted(const collectives::DirectWork& work, int rank, int ranks, std::size_t i) {
    switch (work.function) {
      case Function::kBroadcast:
        return valueOf(work.root, i);
      case Function::kAllGather:
        return valueOf(static_cast<std::int64_t>(i / work.count), i % work.count);
      case Function::kReduceScatter:
        return sumAt(ranks, static_cast<std::size_t>(rank) * work.count + i);
      default:
        return sumAt(ranks, i);
    }
  }

  void add(Function function, std::size_t count, int root, bool inPlace, int rank, int ranks) {
    RankBuffers& buffers = buffers_[static_cast<std::size_t>(rank)];
    const auto n = static_cast<std::size_t>(ranks);
    const bool gathers = function == Function::kAllGather;
    std::vector<std::int64_t> input(count * (function == Function::kReduceScatter ? n : 1));
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = valueOf(rank, i);
    if (inPlace && gathers) {
      std::vector<std::int64_t> all(count * n, -1);
      std::copy(input.begin(), input.end(), all.begin() + static_cast<std::ptrdiff_t>(count) * rank);
      input = std::move(all);
    }
    buffers.input.push_back(std::move(input));
    buffers.output.emplace_back(inPlace ? 0 : count * (gathers ? n : 1), -1);
    collectives::DirectWork work;
    work.function = function;
    work.count = count;
    work.root = root;
    work.type = DataType::kInt64;
    work.reduction = reduces(function) ? collectives::chooseReduction(DataType::kInt64, ReduceOp::kSum, ranks)
                                       : collectives::copyOf(DataType::kInt64);
    buffers.works.push_back(work);
  }

  std::vector<RankBuffers> buffers_;
};

class DirectBatchOf : public TestWithParam<int> {};

TEST_P(DirectBatchOf, DoesAnyMixOfCollectives) {
  ExchangeJob job(GetParam());
  for (unsigned seed = 1; seed < 60; ++seed) {
    const Calls calls(job.ranks(), seed % 3 == 0 ? 100 : 3, seed);
    for (int rank = 0; rank < job.ranks(); ++rank) ASSERT_TRUE(job[rank].startBatch(calls.of(rank)));
    ASSERT_THAT(job.finish(seed), Each(collectives::DirectExchange::Outcome::kDone));
    calls.expectResults();
    if (HasFatalFailure()) return;
  }
}

// Then the collectives are done one by one, and only a few later batches are tried.
TEST_P(DirectBatchOf, IsDeclinedByAllWhereBuffersAreOutOfReach) {
  ExchangeJob job(GetParam(), Reach::kNone);
  int tried = 0;
  for (unsigned seed = 1; seed < 200; ++seed) {
    const Calls calls(job.ranks(), 3, seed);
    const bool starts = job[0].startBatch(calls.of(0));
    for (int rank = 1; rank < job.ranks(); ++rank) ASSERT_EQ(job[rank].startBatch(calls.of(rank)), starts);
    if (starts) {
      ASSERT_THAT(job.finish(seed), Each(collectives::DirectExchange::Outcome::kDeclined));
    }
    tried += starts ? 1 : 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (int rank = 0; rank < job.ranks(); ++rank) job[rank].start(calls.of(rank)[i]);
      ASSERT_THAT(job.finish(seed), Each(collectives::DirectExchange::Outcome::kDone));
    }
    calls.expectResults();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tried, 1);
  EXPECT_LT(tried, 10);
}

INSTANTIATE_TEST_SUITE_P(Ranks, DirectBatchOf, Values(2, 3, 8));

TEST(BatchedExchange, OtherCallsAreFound) {
  ExchangeJob job(2);
  const Calls mine(2, 5, 1), theirs(2, 5, 2);
  job[0].startBatch(mine.of(0));
  job[1].startBatch(theirs.of(1));
  EXPECT_EQ(job[0].step(), collectives::DirectExchange::Outcome::kWouldBlock);
  try {
    job[1].step();
    FAIL() << "nothing was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
    EXPECT_THAT(error.what(), HasSubstr("a group of 5 collectives"));
  }
}

TEST(BatchedExchange, OfOneRankAndASingleCallOfAnotherAreFound) {
  ExchangeJob job(2);
  const Calls calls(2, 5, 1);
  job[0].startBatch(calls.of(0));
  job[1].start(calls.of(1)[0]);
  EXPECT_EQ(job[0].step(), collectives::DirectExchange::Outcome::kWouldBlock);
  EXPECT_THROW(job[1].step(), Error);
}

TEST(BatchedExchange, TakesWhatIsSmallAndNotScaled) {
  EXPECT_TRUE(collectives::BatchedExchange::takes(Function::kAllReduce, 16 << 10, false, 8));
  EXPECT_FALSE(collectives::BatchedExchange::takes(Function::kAllReduce, (16 << 10) + 1, false, 8));
  EXPECT_FALSE(collectives::BatchedExchange::takes(Function::kAllReduce, 8, true, 8));
  EXPECT_FALSE(collectives::BatchedExchange::takes(Function::kAllGather, 16 << 10, false, 2));
}

}  // namespace
}  // namespace xylem::testing
