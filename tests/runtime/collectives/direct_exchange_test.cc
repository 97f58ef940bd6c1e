// The exchange on one host, in which one thread steps all ranks, in many orders of arrival; and the corpus of
// what ranks of a host post.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "fuzz/mailbox_input.h"
#include "fuzz/replay.h"
#include "runtime/collectives/exchange_job.h"
#include "runtime/collectives/mapped_exchange.h"
#include "runtime/collectives/staged_exchange.h"
#include "runtime/transport/local/huge_pages.h"
#include "support/secret_memory.h"
#include "support/small_pages.h"

namespace xylem::collectives {
namespace {

using namespace std::chrono_literals;
using namespace ::testing;
using testing::Buffers;
using testing::buffersOf;
using testing::ExchangeJob;
using testing::Reach;
using testing::sumOf;
using Outcome = DirectExchange::Outcome;

std::int64_t sumAt(int ranks, std::size_t i) {
  return ranks * static_cast<std::int64_t>(i) + 100000 * (ranks * (ranks - 1) / 2);
}

class DirectExchangeOf : public TestWithParam<int> {};

TEST_P(DirectExchangeOf, SumsInPlaceWhateverTheOrderOfArrival) {
  ExchangeJob job(GetParam());
  unsigned seed = 1;
  // Counts around the limits of a descriptor and of a staging area, and shares of odd sizes.
  for (const std::size_t count : {1, 4, 5, 28, 29, 255, 2048, 2049, 4099, 300001})
    for (int repeat = 0; repeat < 3; ++repeat) {
      Buffers buffers = buffersOf(job.ranks(), count);
      for (int rank = 0; rank < job.ranks(); ++rank)
        job[rank].start(sumOf(buffers[static_cast<std::size_t>(rank)], job.ranks()));
      EXPECT_THAT(job.finish(seed++), Each(Outcome::kDone)) << count;
      for (const auto& data : buffers)
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], sumAt(job.ranks(), i)) << count;
    }
}

TEST_P(DirectExchangeOf, OversubscribedRanksStageMoreThanRanksWithACoreEach) {
  for (const bool oversubscribed : {false, true}) {
    ExchangeJob job(GetParam(), Reach::kAll, oversubscribed);
    const std::size_t count = 4096 / static_cast<std::size_t>(job.ranks());
    Buffers buffers = buffersOf(job.ranks(), count);
    EXPECT_EQ(isFasterStaged(sumOf(buffers[0], job.ranks()), job.ranks(), oversubscribed, {}),
              oversubscribed);
    for (int rank = 0; rank < job.ranks(); ++rank)
      job[rank].start(sumOf(buffers[static_cast<std::size_t>(rank)], job.ranks()));
    EXPECT_THAT(job.finish(1), Each(Outcome::kDone));
    for (const auto& data : buffers)
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], sumAt(job.ranks(), i));
  }
}

TEST(MappedExchange, KnowsOutputsThatAreInputs) {
  std::byte memory[4];
  const std::vector<const std::byte*> inputs{&memory[0], &memory[1]};
  const std::vector<std::byte*> apart{&memory[2], &memory[3]}, same{&memory[0], &memory[1]},
      oneIs{&memory[2], &memory[1]}, none;
  EXPECT_FALSE(writesWhatItReads(inputs, apart));
  EXPECT_TRUE(writesWhatItReads(inputs, same));
  EXPECT_TRUE(writesWhatItReads(inputs, oneIs));
  EXPECT_FALSE(writesWhatItReads(inputs, none));
}

// One collective of `count` elements, in place or not, on buffers that other ranks cannot map.
void runOutOfReach(ExchangeJob& job, Function function, std::size_t count, bool inPlace, int root,
                   unsigned seed) {
  const auto n = static_cast<std::size_t>(job.ranks());
  const bool gathers = function == Function::kAllGather, scatters = function == Function::kReduceScatter;
  const bool sums = scatters || function == Function::kAllReduce || function == Function::kReduce;
  Buffers inputs = buffersOf(job.ranks(), scatters ? count * n : count);
  Buffers outputs(n, std::vector<std::int64_t>(gathers ? count * n : count, -1));
  for (std::size_t rank = 0; rank < n; ++rank) {
    DirectWork work = sumOf(inputs[rank], job.ranks());
    work.function = function;
    work.count = count;
    work.root = root;
    if (!sums) work.reduction = copyOf(DataType::kInt64);
    if (!inPlace) work.output = reinterpret_cast<std::byte*>(outputs[rank].data());
    job[static_cast<int>(rank)].start(work);
  }
  ASSERT_THAT(job.finish(seed), Each(Outcome::kDone));
  for (std::size_t rank = 0; rank < n; ++rank) {
    if (function == Function::kReduce && static_cast<int>(rank) != root) continue;
    const std::vector<std::int64_t>& got = inPlace ? inputs[rank] : outputs[rank];
    for (std::size_t i = 0; i < (inPlace ? count : got.size()); ++i) {
      const std::size_t at = gathers ? i % count : scatters ? rank * count + i : i;
      const auto from = gathers ? static_cast<std::int64_t>(i / count) : root;
      ASSERT_EQ(got[i], sums ? sumAt(job.ranks(), at) : static_cast<std::int64_t>(at) + 100000 * from)
          << name(function) << " of " << count << ", rank " << rank << ", element " << i;
    }
  }
}

TEST(InlineExchange, TakesWhatFitsIntoADescriptorOrItsFirstLine) {
  std::vector<std::int64_t> buffer(100);
  DirectWork work = sumOf(buffer, 5);
  for (const std::size_t count : {1, 4, 5, 7, 8, 28, 29}) {
    work.count = count;
    for (const Function function : {Function::kAllReduce, Function::kAllGather, Function::kBroadcast}) {
      work.function = function;
      EXPECT_EQ(InlineExchange::takes(work, 5, false), count <= 4) << count;
      EXPECT_EQ(InlineExchange::takes(work, 5, true), count <= 28) << count;
    }
    work.function = Function::kAlltoAll;  // blocks for four other ranks
    EXPECT_EQ(InlineExchange::takes(work, 5, false), count == 1) << count;
    EXPECT_EQ(InlineExchange::takes(work, 5, true), count <= 7) << count;
  }
}

TEST_P(DirectExchangeOf, UnmappableBuffersOfEveryCollectiveAreInlineOrStaged) {
  ExchangeJob job(GetParam(), Reach::kNone);
  unsigned seed = 1;
  // In descriptors, in one stage, two, and several pieces.
  const std::size_t longest = job.ranks() <= 3 ? 150001 : 40011;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{4}, std::size_t{5}, std::size_t{28}, std::size_t{40}, std::size_t{500},
        std::size_t{5000}, std::size_t{16384}, longest})
    for (const Function function : kAllCollectives)
      for (const int root : {0, job.ranks() - 1}) {
        runOutOfReach(job, function, count, false, root, seed++);
        if (function != Function::kAllGather && function != Function::kReduceScatter)
          runOutOfReach(job, function, count, true, root, seed++);
      }
}

// One all-to-all with blocks of `count` elements.
void runAllToAll(ExchangeJob& job, std::size_t count, unsigned seed) {
  const auto n = static_cast<std::size_t>(job.ranks());
  const Buffers inputs = buffersOf(job.ranks(), count * n);
  Buffers outputs(n, std::vector<std::int64_t>(count * n, -1));
  for (std::size_t rank = 0; rank < n; ++rank)
    job[static_cast<int>(rank)].start({.function = Function::kAlltoAll,
                                       .input = reinterpret_cast<const std::byte*>(inputs[rank].data()),
                                       .output = reinterpret_cast<std::byte*>(outputs[rank].data()),
                                       .count = count,
                                       .type = DataType::kInt64,
                                       .reduction = copyOf(DataType::kInt64)});
  ASSERT_THAT(job.finish(seed), Each(Outcome::kDone));
  for (std::size_t rank = 0; rank < n; ++rank)
    for (std::size_t i = 0; i < count * n; ++i)
      ASSERT_EQ(outputs[rank][i], inputs[i / count][rank * count + i % count])
          << "of " << count << ", rank " << rank << ", element " << i;
}

TEST_P(DirectExchangeOf, AllToAllOfAnySizeWhereverBuffersLie) {
  for (const Reach reach : {Reach::kAll, Reach::kNone}) {
    ExchangeJob job(GetParam(), reach);
    unsigned seed = 1;
    // In descriptors, in one piece, in several, and long enough to pause in between.
    for (const std::size_t count : {1, 2, 3, 17, 30, 1000, 5000, 20011, 140003})
      if (count * static_cast<std::size_t>(job.ranks()) < 500000) runAllToAll(job, count, seed++);
  }
}

TEST_P(DirectExchangeOf, SmallBroadcastsOfUnmappableBuffersAreStagedAndSometimesTriedAgain) {
  ExchangeJob job(GetParam(), Reach::kNone);
  for (unsigned seed = 1; seed < 200; ++seed)
    runOutOfReach(job, seed % 3 == 0 ? Function::kReduce : Function::kBroadcast, 1000, true, 1, seed);
}

// Random choices: all collectives of random sizes, wherever buffers lie, have the same results.
TEST_P(DirectExchangeOf, ResultsDoNotDependOnHowDataMoves) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto among = [&](std::initializer_list<std::uint64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (unsigned round = 0; round < 12; ++round) {
    transport::CopyChoices choices;
    choices.piece = among({4096, 20000, 65536, transport::kMostStaged});
    choices.staged = among({32, 1024, 16384, transport::kMostStaged});
    choices.whole = among({32, 4096, 32768, 1 << 20});
    choices.cycle = among({transport::kLeastCycle, 1000000, transport::kStagingRingBytes});
    choices.streamExchange = among({0, 100000, std::uint64_t{1} << 40});
    choices.blockReadFrom = among({0, 3000});
    choices.blockReadUpTo = among({0, 20000, std::uint64_t{1} << 40});
    choices.reduceReadFrom = among({0, 3000});
    choices.reduceReadUpTo = among({0, 20000, std::uint64_t{1} << 40});
    choices.streamFar = among({0, 1});
    choices.far = among({0, 1});
    choices.adapt = among({0, 1});
    SCOPED_TRACE(choices.text());
    const Reach reach = std::array{Reach::kAll, Reach::kRead, Reach::kNone}[round % 3];
    ExchangeJob job(GetParam(), reach, random() % 4 == 0, choices);
    for (const Function function : kAllCollectives)
      runOutOfReach(job, function, 1 + random() % (1U << (2 + random() % 13)), false,
                    static_cast<int>(random()) & 1, random());
    runAllToAll(job, 1 + random() % 9000, random());
  }
}

// Ranks meet once for each piece that they reduce whole, and twice for each that they share.
TEST(StagedExchange, MeetsOnceForWhatItReducesWhole) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  transport::CopyChoices choices;
  const auto stagesOf = [&](int ranks, DataType type, ReduceOp op) {
    const std::vector<std::byte> input(kBytes);
    std::vector<std::byte> output(kBytes);
    const DirectWork work = {.function = Function::kAllReduce,
                             .input = input.data(),
                             .output = output.data(),
                             .count = kBytes / elementBytes(type),
                             .type = type,
                             .reduction = chooseReduction(type, op, ranks)};
    ExchangeJob job(ranks, Reach::kNone, false, choices);
    // The first operation finds out that no buffer can be mapped.
    std::uint64_t before = 0;
    for (unsigned seed = 1; seed <= 2; ++seed) {
      before = job.mailbox(0).left.load();
      for (int rank = 0; rank < ranks; ++rank) job[rank].start(work);
      EXPECT_THAT(job.finish(seed), Each(Outcome::kDone));
    }
    return job.mailbox(0).left.load() - before;
  };
  constexpr std::uint64_t kPieces = kBytes / transport::kMostStaged;
  EXPECT_EQ(stagesOf(2, DataType::kFloat32, ReduceOp::kSum), 2 * kPieces);
  choices.whole = kBytes / 2;
  EXPECT_EQ(stagesOf(2, DataType::kFloat32, ReduceOp::kSum), 2 * kPieces);
  choices.whole = kBytes;
  EXPECT_EQ(stagesOf(2, DataType::kFloat32, ReduceOp::kSum), kPieces);
  EXPECT_EQ(stagesOf(2, DataType::kFloat16, ReduceOp::kAvg), kPieces);
  choices.whole = 4 * kBytes;
  EXPECT_EQ(stagesOf(3, DataType::kFloat32, ReduceOp::kSum), 2 * kPieces);
  EXPECT_EQ(stagesOf(2, DataType::kFloat8e4m3, ReduceOp::kSum), 2 * kPieces);
}

// 256 and a one of each other rank: if every partial result were rounded to bfloat16, whose numbers are two apart there, the ones
// would be lost. This holds for every way that the data can take.
TEST_P(DirectExchangeOf, SumsOfBfloat16RoundOnce) {
  const int ones = GetParam() - 1;
  const auto bitsOf = [](float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  };
  const auto expected = bitsOf(static_cast<float>(256 + ones / 2 * 2 + (ones % 4 == 3 ? 2 : 0)));
  const auto read = transport::CopyChoices::fromText("reduce_read_up_to=1000000");
  for (const Reach reach : {Reach::kAll, Reach::kRead, Reach::kNone})
    for (const std::size_t count : {7, 3000, 100001}) {
      ExchangeJob job(GetParam(), reach, false, read);
      std::vector<std::vector<std::uint16_t>> buffers(1, std::vector(count, bitsOf(256)));
      buffers.resize(static_cast<std::size_t>(GetParam()), std::vector(count, bitsOf(1)));
      for (int rank = 0; rank < job.ranks(); ++rank) {
        auto* const data = reinterpret_cast<std::byte*>(buffers[static_cast<std::size_t>(rank)].data());
        job[rank].start({.function = Function::kAllReduce,
                         .input = data,
                         .output = data,
                         .count = count,
                         .type = DataType::kBfloat16,
                         .reduction = chooseReduction(DataType::kBfloat16, ReduceOp::kSum, job.ranks())});
      }
      ASSERT_THAT(job.finish(1), Each(Outcome::kDone));
      for (const auto& data : buffers) ASSERT_THAT(data, Each(expected)) << count;
    }
}

// A root stages the pieces of several broadcasts ahead. Then all make operations that go through other areas.
TEST_P(DirectExchangeOf, ARootStagesPiecesAheadOfTheOthers) {
  ExchangeJob job(GetParam(), Reach::kNone);
  constexpr int kCount = 3000;  // two pieces, of 16 KiB and less
  const auto others = [&](auto&& call) {
    for (int rank = 1; rank < job.ranks(); ++rank) call(rank);
  };
  std::vector<std::int64_t> data(kCount);
  Buffers results(static_cast<std::size_t>(job.ranks()), data);
  const auto broadcast = [&](int rank) {
    DirectWork work = sumOf(rank == 0 ? data : results[static_cast<std::size_t>(rank)], job.ranks());
    work.function = Function::kBroadcast;
    job[rank].start(work);
  };
  const auto rootIsDone = [&] {
    Outcome outcome = Outcome::kAdvanced;
    while (outcome == Outcome::kAdvanced) outcome = job[0].step();
    return outcome == Outcome::kDone;
  };
  // The first one finds out that buffers cannot be mapped.
  for (int rank = 0; rank < job.ranks(); ++rank) broadcast(rank);
  EXPECT_THAT(job.finish(1), Each(Outcome::kDone));
  for (unsigned round = 0; round < 2; ++round) {
    int ahead = 0;
    for (;; ++ahead) {
      data.assign(kCount, 100 * round + ahead);
      broadcast(0);
      if (!rootIsDone()) break;
    }
    EXPECT_GE(ahead, 2);
    EXPECT_LE(ahead, static_cast<int>(transport::kMailboxSlots) / 2);
    for (int number = 0; number <= ahead; ++number)
      others([&](int rank) {
        broadcast(rank);
        while (job[rank].step() != Outcome::kDone) job[0].step();
        const auto& result = results[static_cast<std::size_t>(rank)];
        ASSERT_EQ(std::count(result.begin(), result.end(), 100 * round + number), kCount) << rank;
      });
    Buffers sums = buffersOf(job.ranks(), kCount);
    for (int rank = 0; rank < job.ranks(); ++rank)
      job[rank].start(sumOf(sums[static_cast<std::size_t>(rank)], job.ranks()));
    EXPECT_THAT(job.finish(round), Each(Outcome::kDone));
    for (const auto& sum : sums)
      for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], sumAt(job.ranks(), i));
  }
}

// Blocks of these sizes are read, others are staged.
TEST_P(DirectExchangeOf, BlocksAreReadThroughTheKernelWhereThatIsChosen) {
  const auto choices = transport::CopyChoices::fromText(
      "block_read_from=40000,block_read_up_to=4400001,reduce_read_from=80000,reduce_read_up_to=1000000");
  const int others = GetParam() - 1;
  ExchangeJob job(GetParam(), Reach::kRead, false, choices);
  unsigned seed = 1;
  const auto readsOf = [&](auto&& run) {
    const int before = job.reads();
    run();
    return job.reads() - before;
  };
  const auto readsBy = [&](Function function, std::size_t count) {
    return readsOf([&] { runOutOfReach(job, function, count, false, others, seed++); });
  };
  EXPECT_EQ(readsBy(Function::kAllGather, 4999), 0);
  EXPECT_EQ(readsBy(Function::kAllGather, 5000), (others + 1) * others);
  EXPECT_EQ(readsBy(Function::kAllReduce, 5000), 0);
  // Each rank's share of all others, then the others' results.
  EXPECT_EQ(readsBy(Function::kAllReduce, 10000), 2 * (others + 1) * others);
  EXPECT_EQ(readsBy(Function::kReduceScatter, 4999), 0);
  EXPECT_GT(readsBy(Function::kReduceScatter, 5000), 0);
  EXPECT_EQ(readsBy(Function::kReduce, 4999), 0);
  EXPECT_EQ(readsBy(Function::kReduce, 5000), others == 1 ? 1 : 0);
  EXPECT_EQ(readsBy(Function::kReduce, 10000), others == 1 ? 2 : 0);  // each reads what it reduces
  EXPECT_EQ(readsBy(Function::kBroadcast, 550000), 2 * others);       // pieces of 4 MiB
  EXPECT_EQ(readsBy(Function::kBroadcast, 550001), 0);
  EXPECT_EQ(readsOf([&] { runAllToAll(job, 5001, seed++); }), (others + 1) * others);
}

// The root of a Broadcast in place, and the other rank of a Reduce, write a part into the others' outputs.
TEST_P(DirectExchangeOf, RanksThatOnlyBringDataWriteAPartOfItThemselves) {
  const auto choices = transport::CopyChoices::fromText("block_read_up_to=10000000");
  const int others = GetParam() - 1;
  ExchangeJob job(GetParam(), Reach::kRead, false, choices);
  unsigned seed = 1;
  const auto writesBy = [&](Function function, std::size_t count, bool inPlace, int root) {
    const int before = job.writes();
    runOutOfReach(job, function, count, inPlace, root, seed++);
    return job.writes() - before;
  };
  const std::size_t least = std::size_t{2} << 10;  // elements that the root writes
  for (const int root : {0, others}) {
    const std::size_t count = least * static_cast<std::size_t>(GetParam());
    EXPECT_EQ(writesBy(Function::kBroadcast, count, true, root), others);
    EXPECT_EQ(writesBy(Function::kBroadcast, count + 77, true, root), others);
    EXPECT_EQ(writesBy(Function::kBroadcast, count - 1, true, root), 0);
    EXPECT_EQ(writesBy(Function::kBroadcast, count, false, root), 0);  // the root copies into its own output
    for (const bool inPlace : {false, true}) {
      EXPECT_EQ(writesBy(Function::kReduce, least * 8 / 3 + 200, inPlace, root), others == 1 ? 1 : 0);
      EXPECT_EQ(writesBy(Function::kReduce, least * 8 / 3 - 8, inPlace, root), 0);
      EXPECT_EQ(writesBy(Function::kReduce, 200001, inPlace, root) > 1, others == 1);
    }
  }
}

// Bytes of the root's result. Ranks have factors of their own, if sums are pre-multiplied.
std::vector<std::uint8_t> reduceBytes(Reach reach, DataType type, std::optional<ReduceOp> op,
                                      std::size_t count, int root, bool inPlace, const SharedWork& shared) {
  ExchangeJob job(2, reach, false, transport::CopyChoices::fromText("block_read_up_to=100000000"), shared);
  const std::size_t bytes = count * elementBytes(type);
  std::vector<std::vector<std::uint8_t>> inputs(2, std::vector<std::uint8_t>(bytes));
  std::vector<std::uint8_t> output(bytes);
  std::mt19937 random(3);
  for (auto& input : inputs)
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random() % 60);  // no NaN of any type
  for (int rank = 0; rank < 2; ++rank) {
    auto& input = inputs[static_cast<std::size_t>(rank)];
    const float factor = static_cast<float>(rank) + 0.5F;
    job[rank].start({.function = Function::kReduce,
                     .input = reinterpret_cast<const std::byte*>(input.data()),
                     .output = reinterpret_cast<std::byte*>(inPlace ? input.data() : output.data()),
                     .count = count,
                     .type = type,
                     .scaled = !op,
                     .root = root,
                     .reduction = op ? chooseReduction(type, *op, 2) : choosePreMulSum(type, &factor)});
  }
  EXPECT_THAT(job.finish(1), Each(Outcome::kDone));
  EXPECT_EQ(job.writes() > 0, reach == Reach::kRead);
  return inPlace ? inputs[static_cast<std::size_t>(root)] : output;
}

TEST(DirectExchange, TheOtherRanksShareOfAReduceIsWhatTheRootWouldHaveReduced) {
  const SharedWork alone, shared(std::make_shared<device::Helpers>(2));
  const std::pair<DataType, std::optional<ReduceOp>> cases[] = {{DataType::kUint8, ReduceOp::kAvg},
                                                                {DataType::kInt8, ReduceOp::kMax},
                                                                {DataType::kBfloat16, ReduceOp::kSum},
                                                                {DataType::kFloat32, ReduceOp::kAvg},
                                                                {DataType::kFloat32, std::nullopt}};
  for (const auto& [type, op] : cases)
    for (const int root : {0, 1})
      for (const bool inPlace : {false, true})
        for (const SharedWork* threads : {&alone, &shared}) {
          const std::size_t count = (threads == &alone ? 300001 : 3000001) / elementBytes(type);
          EXPECT_TRUE(reduceBytes(Reach::kRead, type, op, count, root, inPlace, *threads) ==
                      reduceBytes(Reach::kAll, type, op, count, root, inPlace, *threads))
              << name(type) << " root " << root << " in place " << inPlace;
        }
}

// All ranks take the way that one has told, whichever its times speak for: otherwise they would wait for each other.
TEST_P(DirectExchangeOf, OtherWaysAreTriedWhileRunning) {
  const auto choices = transport::CopyChoices::fromText("adapt=1");
  for (const Reach reach : {Reach::kRead, Reach::kNone}) {
    ExchangeJob job(GetParam(), reach, false, choices);
    job.useTimes(20us, 100us);
    unsigned seed = 1;
    for (const Function function : kAllCollectives) {
      if (!ReadExchange::suits(function, GetParam())) continue;
      const int before = job.reads();
      for (int i = 0; i < 150; ++i)
        runOutOfReach(job, function, 1024 + static_cast<std::size_t>(i % 5) * 100, false, i % 3 == 0 ? 1 : 0,
                      seed++);
      EXPECT_EQ(job.reads() > before, reach == Reach::kRead) << name(function);
    }
  }
}

TEST_P(DirectExchangeOf, AllRanksGoOverToTheFasterWay) {
  const auto choices = transport::CopyChoices::fromText("adapt=1");
  for (const Function function : kAllCollectives) {
    if (!ReadExchange::suits(function, GetParam())) continue;
    ExchangeJob job(GetParam(), Reach::kRead, false, choices);
    unsigned seed = 1;
    // How many of 32 operations are read, after 600 others that took these times.
    const auto reads = [&](std::chrono::nanoseconds read, std::chrono::nanoseconds staged) {
      job.useTimes(read, staged);
      int reads = 0;
      for (int i = 0; i < 632; ++i) {
        const int before = job.reads();
        runOutOfReach(job, function, 1100, false, 1, seed++);
        if (i >= 600) reads += job.reads() > before;
      }
      return reads;
    };
    SCOPED_TRACE(name(function));
    // The 32 may meet a trial of the other way: eight operations, and five until all ranks have heard of its end.
    EXPECT_GE(reads(20us, 30us), 32 - 13);
    EXPECT_LE(reads(30us, 20us), 13);
    EXPECT_GE(reads(20us, 30us), 32 - 13);
  }
}

// Two ranks with mapped buffers of 4 MiB for the input and 8 for the output, 16 MiB together in an AllReduce.
class StreamedResultsOf : public Test {
 protected:
  static constexpr std::size_t kCount = std::size_t{512} << 10;

  // Whether each rank has streamed the last of these operations, which are in place on the rank `inPlace`, if there is one.
  std::vector<bool> run(ExchangeJob& job, Function function, std::size_t count, int times, int inPlace = -1) {
    for (int i = 0; i < times; ++i) {
      for (const int rank : {0, 1}) {
        DirectWork work = sumOf(in_[static_cast<std::size_t>(rank)], 2);
        work.function = function;
        work.count = count;
        if (rank != inPlace)
          work.output = reinterpret_cast<std::byte*>(out_[static_cast<std::size_t>(rank)].data());
        job[rank].start(work);
      }
      EXPECT_THAT(job.finish(seed_++), Each(Outcome::kDone));
    }
    return {job[0].streams(), job[1].streams()};
  }
  Buffers in_ = buffersOf(2, kCount), out_ = buffersOf(2, 2 * kCount);
  unsigned seed_ = 1;
};

TEST_F(StreamedResultsOf, AllRanksGoTheWayThatIsFasterForOne) {
  ExchangeJob job(2, Reach::kAll, false, transport::CopyChoices::fromText("adapt=1"));
  job.useStreamingTimes(600us, 1000us);
  EXPECT_THAT(run(job, Function::kAllReduce, kCount, 30), Each(true));
  for (const std::vector<std::int64_t>& sums : out_)
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(sums[i], sumAt(2, i));
  EXPECT_THAT(
      job.changes(),
      ElementsAre(
          "results of AllReduce in buffers of 16777216 bytes: past the caches from now on, which took "
          "600.0 us; through the caches 1000.0 us"));
  EXPECT_THAT(run(job, Function::kAllGather, kCount, 1), Each(false));  // it has times of its own
  job.useStreamingTimes(1000us, 600us);
  EXPECT_THAT(run(job, Function::kAllReduce, kCount, 150), Each(false));
}

TEST_F(StreamedResultsOf, ReductionsInPlaceAreNotStreamedAndDoNotCount) {
  for (const int inPlace : {0, 1}) {
    ExchangeJob job(2, Reach::kAll, false, transport::CopyChoices::fromText("adapt=1,stream_exchange=0"));
    job.useStreamingTimes(600us, 600us);
    EXPECT_THAT(run(job, Function::kAllReduce, kCount, 1), Each(true));
    EXPECT_THAT(run(job, Function::kAllReduce, kCount, 1, inPlace), Each(false));
    const int before = job.clockReads();
    for (int i = 0; i < 40; ++i)
      EXPECT_THAT(run(job, Function::kAllReduce, kCount, 1, inPlace), Each(false)) << i;
    EXPECT_EQ(job.clockReads(), before);
  }
}

TEST_F(StreamedResultsOf, WhereNothingIsTriedTheLimitDecides) {
  for (const char* limit : {"16777215", "16777216"}) {
    ExchangeJob job(2, Reach::kAll, false,
                    transport::CopyChoices::fromText(fmt::format("stream_exchange={},adapt=0", limit)));
    job.useStreamingTimes(600us, 1000us);
    EXPECT_THAT(run(job, Function::kAllReduce, kCount, 20), Each(limit == std::string("16777215")));
    EXPECT_THAT(run(job, Function::kAllReduce, kCount / 2, 1), Each(false));
    EXPECT_THAT(job.changes(), IsEmpty());
  }
}

// Ranks that first use memory wait for it. So nothing is tried until the staging memory has been used.
TEST(DirectExchange, WhatIsStagedInNewMemoryDoesNotCount) {
  for (const Function function : kAllCollectives) {
    if (!ReadExchange::suits(function, 2)) continue;
    SCOPED_TRACE(name(function));
    ExchangeJob job(2, Reach::kRead, false, transport::CopyChoices::fromText("adapt=1"));
    job.useTimes(20us, 200us);
    unsigned seed = 1;
    // Blocks of 8800 bytes go through 256 KiB, 29 of them. Ten more, of 200 us each, are known well enough.
    for (int i = 0; i < 29 + 10; ++i) runOutOfReach(job, function, 1100, false, 1, seed++);
    EXPECT_EQ(job.reads(), 0);
    for (int i = 0; i < 100; ++i) runOutOfReach(job, function, 1100, false, 1, seed++);
    EXPECT_GT(job.reads(), 0);
  }
}

// Inputs that others often read through the kernel are put into huge pages, and the results of an AllReduce, which they read, and of a Reduce,
// of which they write a part.
TEST(DirectExchange, MemoryThatIsOftenReadIsPutIntoHugePages) {
  using testing::SmallPages;
  if (!SmallPages::mayBecomeHuge()) GTEST_SKIP() << "no huge pages here";
  constexpr std::size_t kBlock = 6 * kHugePage;
  std::vector<std::unique_ptr<SmallPages>>
      memory;  // reads are counted by address, so each case has memory of its own
  const auto run = [&](Function function, bool wanted) {
    SCOPED_TRACE(fmt::format("{}, wanted: {}", name(function), wanted));
    const std::size_t first = memory.size();
    for (const std::size_t bytes : {kBlock, kBlock, 2 * kBlock, 2 * kBlock})
      memory.push_back(std::make_unique<SmallPages>(bytes));
    ExchangeJob job(2, Reach::kRead, false,
                    transport::CopyChoices::fromText(fmt::format(
                        "block_read_up_to=20000000,reduce_read_up_to=20000000,huge_pages={:d}", wanted)));
    for (unsigned i = 0; i < 2 * transport::HugePages::kOften; ++i) {
      for (std::size_t rank = 0; rank < 2; ++rank)
        job[static_cast<int>(rank)].start(
            {.function = function,
             .input = memory[first + rank]->data(),
             .output = memory[first + 2 + rank]->data(),
             .count = kBlock / sizeof(std::int64_t),
             .type = DataType::kInt64,
             .reduction = reduces(function) ? chooseReduction(DataType::kInt64, ReduceOp::kSum, 2)
                                            : copyOf(DataType::kInt64)});
      ASSERT_THAT(job.finish(i), Each(Outcome::kDone));
    }
    const auto isHuge = [&](std::size_t i) { return memory[first + i]->hugeBytes() > 0; };
    const auto expect = [&](std::size_t i, bool huge) {
      if (huge || !SmallPages::mayBecomeHugeAlone()) {
        EXPECT_EQ(isHuge(i), huge) << i;
      }
    };
    expect(0, wanted);
    expect(1, wanted);
    expect(2, wanted && function != Function::kAllGather);
  };
  run(Function::kAllGather, false);
  for (const Function function : {Function::kAllGather, Function::kAllReduce, Function::kReduce})
    run(function, true);
}

// Nearly all are read where that is a little faster: ranks hear soon that a trial of staging is over.
TEST(DirectExchange, TrialsOfStagingABroadcastAreShort) {
  ExchangeJob job(2, Reach::kRead, false,
                  transport::CopyChoices::fromText("block_read_up_to=1000000,adapt=1"));
  job.useTimes(20us, 21us);
  Buffers buffers = buffersOf(2, 32768);
  constexpr int kOperations = 600;
  for (unsigned i = 0; i < kOperations; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      DirectWork work = sumOf(buffers[static_cast<std::size_t>(rank)], 2);
      work.function = Function::kBroadcast;
      job[rank].start(work);
    }
    ASSERT_THAT(job.finish(i), Each(Outcome::kDone));
  }
  // Where both ways take nearly as long, a trial comes after 64 operations or more, has twenty at most, and the root hears of its end within
  // five more.
  EXPECT_GT(job.reads(), kOperations * 64 / (64 + 20 + 5));
  EXPECT_LT(job.reads(), kOperations) << "there was no trial";
}

TEST_P(DirectExchangeOf, BlocksAreStagedIfARankCannotReadThem) {
  const auto choices = transport::CopyChoices::fromText("block_read_up_to=1000000");
  ExchangeJob job(GetParam(), Reach::kNone, false, choices);
  for (unsigned seed = 1; seed < 4; ++seed) runOutOfReach(job, Function::kAllGather, 5000, false, 0, seed);
  EXPECT_EQ(job.reads(), 0);
}

TEST_P(DirectExchangeOf, OnlyLinesAreTimedWhereARankCannotReadAnother) {
  ExchangeJob job(GetParam(), Reach::kNone, false, transport::CopyChoices::fromText("adapt=1"));
  constexpr int kOperations = 200, kCount = 1100;
  for (unsigned seed = 1; seed <= kOperations; ++seed)
    runOutOfReach(job, Function::kAllGather, kCount, false, 0, seed);
  EXPECT_EQ(job.clockReads(), 2 * job.ranks() * (kOperations * kCount * 8 / (128 << 10)))
      << "one after 128 KiB";
}

// One AllGather or Broadcast, of which each rank may know that it is the same operation again; the first rank brings its data in `secret`, if
// there is one.
void runRepeated(ExchangeJob& job, Function function, std::byte* secret, Buffers& inputs, Buffers& outputs,
                 unsigned seed, bool mayStartAgain) {
  const std::size_t count = inputs[0].size();
  std::mt19937 random(seed);
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    for (std::int64_t& element : inputs[rank]) element += seed;
    std::ranges::fill(outputs[rank], -1);
    DirectWork work = sumOf(inputs[rank], job.ranks());
    work.function = function;
    work.reduction = copyOf(DataType::kInt64);
    if (rank == 0 && secret != nullptr) {
      std::memcpy(secret, inputs[0].data(), count * sizeof(std::int64_t));
      work.input = secret;
    }
    work.output = reinterpret_cast<std::byte*>(outputs[rank].data());
    DirectExchange& exchange = job[static_cast<int>(rank)];
    if (mayStartAgain && random() % 2 == 0)
      exchange.startAgain(work.input, work.output);
    else
      exchange.start(work);
  }
  ASSERT_THAT(job.finish(seed), Each(Outcome::kDone));
  for (const auto& output : outputs)
    for (std::size_t i = 0; i < output.size(); ++i)
      ASSERT_EQ(output[i], inputs[i / count][i % count]) << "element " << i;
}

// Ranks stage what cannot be read, and read again what can.
TEST_P(DirectExchangeOf, OneBufferThatCannotBeReadDoesNotChangeTheWayOfOthers) {
  constexpr std::size_t kCount = 1100;
  std::byte* const secret = testing::secretMemory(kCount * sizeof(std::int64_t));
  if (secret == nullptr) GTEST_SKIP() << "the kernel has no memfd_secret";
  unsigned seed = 1;
  for (const bool adapts : {false, true})
    for (const Function function : {Function::kAllGather, Function::kBroadcast}) {
      SCOPED_TRACE(fmt::format("{}, adapts: {}", name(function), adapts));
      ExchangeJob job(
          GetParam(), Reach::kRead, false,
          transport::CopyChoices::fromText(fmt::format("block_read_up_to=1000000,adapt={:d}", adapts)));
      job.useTimes(20us, 30us);
      Buffers inputs = buffersOf(job.ranks(), kCount);
      Buffers outputs(inputs.size(), std::vector<std::int64_t>(
                                         function == Function::kAllGather ? inputs.size() * kCount : kCount));
      // How many of 100 operations are read, all but a trial of the other way, of twenty and five. A Broadcast may hear only after 64 that it can be read.
      const auto reads = [&] {
        int reads = 0;
        for (int i = 0; i < 100; ++i) {
          const int before = job.reads();
          runOutOfReach(job, function, kCount, false, 0, seed++);
          reads += job.reads() > before;
        }
        return reads;
      };
      const int least = function == Function::kAllGather ? 100 - 1 - 25 : 100 - 64 - 25;
      EXPECT_GE(reads(), least);
      for (int round = 0; round < 3; ++round) {
        const int before = job.reads();
        for (int i = 0; i < 5; ++i) runRepeated(job, function, secret, inputs, outputs, seed++, i > 0);
        EXPECT_EQ(job.reads(), before);
        EXPECT_GE(reads(), least);
      }
    }
}

// By the time of a line, which they write in each operation; and each copies accordingly what it stages.
TEST_P(DirectExchangeOf, RanksFindOutHowFarTheOthersAre) {
  for (const bool stream : {false, true}) {
    ExchangeJob job(GetParam(), Reach::kNone, false,
                    transport::CopyChoices::fromText(fmt::format("stream_far={:d}", stream)));
    const auto areFar = [&] {
      int far = 0;
      for (int rank = 0; rank < job.ranks(); ++rank)
        for (int other = 0; other < job.ranks(); ++other) far += rank != other && job[rank].isFar(other);
      return far;
    };
    EXPECT_EQ(areFar(), 0);
    unsigned seed = 1;
    const int pairs = job.ranks() * (job.ranks() - 1);
    for (const bool far : {true, false, true}) {
      job.useLines(far ? 300ns : 60ns);
      // Two lines of each rank have to say so, one after every 128 KiB, whether data goes both ways or one.
      for (int i = 0; i < 2 * (job.ranks() - 1); ++i)
        runOutOfReach(job, i % 2 == 0 ? Function::kAllReduce : Function::kBroadcast, 16384 + 8, false,
                      i % job.ranks(), seed++);
      EXPECT_EQ(areFar(), far ? pairs : 0);
    }
  }
}

// Near cores begin with staging, but for much data.
TEST(DirectExchange, WhatWasMeasuredBetweenFarCoresDoesNotHoldForNearOnes) {
  for (const int ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    ExchangeJob job(ranks, Reach::kRead, false,
                    transport::CopyChoices::fromText("block_read_up_to=4000000,far=1,adapt=1"));
    unsigned seed = 1;
    // How many reads of other ranks that many operations take.
    const auto reads = [&](int operations, std::size_t bytes) {
      const int before = job.reads();
      for (int i = 0; i < operations; ++i)
        runOutOfReach(job, Function::kAllGather, bytes / sizeof(std::int64_t), false, 0, seed++);
      return job.reads() - before;
    };
    const int pairs = ranks * (ranks - 1), untilKnown = 2 * (ranks - 1);
    constexpr std::size_t kLittle = std::size_t{128} << 10, kMuch = std::size_t{1} << 20;
    job.useLines(300ns);
    EXPECT_EQ(reads(untilKnown, kLittle), untilKnown * pairs);
    job.useLines(60ns);
    reads(untilKnown + 1, kLittle);  // the next operation tells all ranks
    EXPECT_EQ(reads(10, kLittle), 0);
    EXPECT_EQ(reads(3, kMuch), 3 * pairs);
  }
}

// Some ranks have kept the operation that they repeat, others have not: they have to go the same ways.
TEST_P(DirectExchangeOf, RanksThatKeptAnOperationGoTheWayOfThoseThatHaveNot) {
  constexpr std::size_t kMost = 1100;
  std::byte* const secret = testing::secretMemory(kMost * sizeof(std::int64_t));
  if (secret == nullptr) GTEST_SKIP() << "the kernel has no memfd_secret";
  // Inline, always staged, and staged or read.
  for (const std::size_t count : {std::size_t{4}, std::size_t{30}, kMost})
    for (const Function function : {Function::kAllGather, Function::kBroadcast}) {
      ExchangeJob job(GetParam(), Reach::kRead, false,
                      transport::CopyChoices::fromText("block_read_up_to=1000000,adapt=1"));
      Buffers inputs = buffersOf(job.ranks(), count);
      Buffers outputs(inputs.size(), std::vector<std::int64_t>(
                                         function == Function::kAllGather ? inputs.size() * count : count));
      std::mt19937 random(1);
      for (unsigned i = 0; i < (count == kMost ? 600U : 100U); ++i) {
        if (i % 100 == 0) job.useTimes(i % 200 == 0 ? 20us : 30us, i % 200 == 0 ? 30us : 20us);
        runRepeated(job, function, random() % 8 == 0 ? secret : nullptr, inputs, outputs, i, i > 0);
        ASSERT_FALSE(HasFatalFailure()) << name(function) << " of " << count << ", " << i;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DirectExchangeOf, Values(2, 3, 5, 8));

// Much data, of which helper threads take a part.
TEST(DirectExchange, HelpersShareWhateverWayDataTakes) {
  const SharedWork shared(std::make_shared<device::Helpers>(3));
  unsigned seed = 1;
  for (const Reach reach : {Reach::kAll, Reach::kRead}) {
    transport::CopyChoices choices;
    choices.blockReadUpTo = choices.reduceReadUpTo = std::uint64_t{1} << 40;
    ExchangeJob job(reach == Reach::kAll ? 2 : 3, reach, false, choices, shared);
    for (const bool inPlace : {false, true})
      for (const Function function : kAllCollectives)
        if (!inPlace || isRooted(function)) runOutOfReach(job, function, 400001, inPlace, 1, seed++);
    runAllToAll(job, 200001, seed++);
  }
}

TEST(DirectExchange, BuffersOfWhoHasWithdrawnAreLeftAlone) {
  ExchangeJob job(3);
  Buffers buffers = buffersOf(3, 600001);  // two pieces for each
  for (int rank = 0; rank < 3; ++rank) job[rank].start(sumOf(buffers[static_cast<std::size_t>(rank)], 3));
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(job[rank].step(), rank < 2 ? Outcome::kWouldBlock : Outcome::kAdvanced);
  job.mailbox(1).withdraw();
  const Buffers before = buffers;
  for (const int rank : {0, 2}) {
    EXPECT_EQ(job[rank].step(), Outcome::kWouldBlock);
    EXPECT_EQ(job[rank].waitsFor(), 1);
    EXPECT_FALSE(job.mailbox(rank).visits());
  }
  EXPECT_EQ(buffers, before);
}

// The rank that reads may have been stopped in the middle, for longer than the other one waits.
TEST(DirectExchange, WhatWasReadWhileARankWithdrewIsNoResult) {
  transport::CopyChoices choices;
  choices.blockReadUpTo = std::uint64_t{1} << 40;
  ExchangeJob job(2, Reach::kRead, false, choices);
  Buffers buffers = buffersOf(2, 60000);
  for (int rank = 0; rank < 2; ++rank) {
    DirectWork work = sumOf(buffers[static_cast<std::size_t>(rank)], 2);
    work.function = Function::kBroadcast;
    work.root = 1;
    job[rank].start(work);
  }
  job.whileRead([&] { job.mailbox(1).withdraw(); });
  EXPECT_THAT(job.finish(1), Each(Outcome::kWouldBlock));
  EXPECT_EQ(job.reads(), 1);
  EXPECT_EQ(job[0].waitsFor(), 1);
}

// Every input that once broke something is in the corpus and stays there.
TEST(Corpus, EveryDescriptorIsTakenOrRefused) {
  const Replayed replayed = replayCorpus("mailbox", feedMailboxes);
  EXPECT_GE(replayed.accepted, 20);
  EXPECT_GE(replayed.refused, 5);
}

}  // namespace
}  // namespace xylem::collectives
