// The parts of `xylem perf` that need no ranks: sizes, factors, the data that must arrive, and the test data.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "cli/perf/cases.h"
#include "cli/perf/memory_need.h"
#include "cli/perf/report.h"
#include "cli/perf/test_data.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

using ::testing::ElementsAre;

std::vector<PerfCollective> allCollectives() {
  std::vector<PerfCollective> all;
  for (int i = 0; i < kPerfCollectives; ++i) all.push_back(static_cast<PerfCollective>(i));
  return all;
}

std::vector<DataType> allTypes() {
  std::vector<DataType> all;
  for (int i = 0; i < kDataTypes; ++i) all.push_back(static_cast<DataType>(i));
  return all;
}

TEST(PerfBandwidth, FactorsAreThoseOfNcclTests) {
  // 4 ranks, 1 GB/s: the bandwidth that nccl-tests' PERFORMANCE.md gives for each operation's link.
  const std::map<PerfCollective, Bandwidth> expected = {
      {PerfCollective::kAllReduce, {1, 1.5}},      {PerfCollective::kAllGather, {1, 0.75}},
      {PerfCollective::kReduceScatter, {1, 0.75}}, {PerfCollective::kBroadcast, {1, 1}},
      {PerfCollective::kReduce, {1, 1}},           {PerfCollective::kAllToAll, {1, 0.75}},
      {PerfCollective::kScatter, {1, 0.75}},       {PerfCollective::kGather, {1, 0.75}},
      {PerfCollective::kSendRecv, {1, 1}},         {PerfCollective::kHypercube, {0.75, 0.75}},
  };
  for (const auto& [collective, bandwidth] : expected) {
    const Bandwidth found = bandwidthOf(collective, 4'000'000, 4, 4000);
    EXPECT_DOUBLE_EQ(found.algorithm, bandwidth.algorithm) << name(collective);
    EXPECT_DOUBLE_EQ(found.bus, bandwidth.bus) << name(collective);
    EXPECT_EQ(bandwidthOf(collective, 4'000'000, 4, 0).bus, 0) << "no time, no speed";
  }
  EXPECT_EQ(bandwidthOf(PerfCollective::kAllReduce, 1000, 1, 1).bus, 0) << "one rank has no link";
}

TEST(PerfSpeed, TheTimeOfTheCallsIsShownBesideTheBandwidthOfTheWhole) {
  PerfOptions options;
  options.processes = 2;
  PerfCase c{DataType::kInt8, PerfOperator::kSum, -1,
             layoutOf(options.collective, 4'000'000, DataType::kInt8, 2)};
  std::vector<PerfMessage> results{PerfMessage::of(PerfMessage::kResult, 0),
                                   PerfMessage::of(PerfMessage::kResult, 1)};
  results[0].outOfPlace = {.microseconds = 3000, .enqueuing = 10};
  results[1].outOfPlace = {.microseconds = 5000, .enqueuing = 30};
  for (const bool cpuTime : {false, true}) {
    options.cpuTime = cpuTime;
    const PerfSpeed speed = speedOf(options, c, results, &PerfMessage::outOfPlace);
    EXPECT_DOUBLE_EQ(speed.microseconds, cpuTime ? 20 : 4000);
    EXPECT_DOUBLE_EQ(speed.bandwidth.algorithm, 1);
  }
}

TEST(PerfMemoryNeed, RefusesWhatDoesNotFit) {
  PerfOptions options;
  options.processes = 1000;
  options.maxBytes = 8;
  const std::uint64_t gigabytes = 24'000'000'000;
  try {
    requireMemory(options, gigabytes);
    FAIL() << "31.5 MB for each of 1000 ranks do not fit into 24 GB";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("1000 ranks, needing about 31.5 GB"),
                               testing::HasSubstr("24.0 GB are available; expected at most 9")));
  }
  PerfOptions large;
  large.processes = 1;
  large.maxBytes = std::size_t{1} << 40;
  try {
    requireMemory(large, gigabytes);
    FAIL() << "two buffers of 1 TiB do not fit into 24 GB";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("found 1 rank, needing about 2199.0 GB"),
                                             ::testing::EndsWith("expected smaller sizes (-e)")));
  }
  EXPECT_NO_THROW(requireMemory(options, std::nullopt));
  options.processes = 256;
  EXPECT_NO_THROW(requireMemory(options, gigabytes));
  options.maxBytes = std::size_t{64} << 20;
  EXPECT_THROW(requireMemory(options, gigabytes), InputError) << "buffers count, too";
  EXPECT_GT(availableMemory().value_or(0), 0);
}

TEST(PerfCases, MessagesHaveTheCountThatIsAskedFor) {
  for (const PerfCollective whole : {PerfCollective::kSendRecv, PerfCollective::kAllReduce})
    EXPECT_EQ(layoutOf(whole, 8, DataType::kFloat32, 3).count, 2u) << name(whole);
  EXPECT_EQ(layoutOf(PerfCollective::kAllGather, 100, DataType::kFloat32, 3).count, 8u)
      << "blocks of 16 bytes";
}

TEST(PerfCases, RootsOperatorsTypesAndSizes) {
  PerfOptions options;
  options.collective = PerfCollective::kReduce;
  options.processes = 3;
  options.minBytes = 16;
  options.maxBytes = 64;
  options.root = -1;
  options.types = {DataType::kInt32, DataType::kFloat64};
  options.ops = {PerfOperator::kSum, PerfOperator::kMax};
  const auto all = casesOf(options);
  ASSERT_EQ(all.size(), 2u * 2 * 3 * 3);
  // Sizes vary fastest, types slowest.
  EXPECT_EQ(all[2].bytes(), 64u);
  EXPECT_EQ(all[2].root, 0);
  EXPECT_EQ(all[3].root, 1);
  EXPECT_EQ(all[8].op, PerfOperator::kSum);
  EXPECT_EQ(all[9].op, PerfOperator::kMax);
  EXPECT_EQ(all[17].type, DataType::kInt32);
  EXPECT_EQ(all[18].type, DataType::kFloat64);
  EXPECT_EQ(all[18].layout.count, 2u);

  // Operations that do not reduce have no operator, and those without a root have none. Sizes grow by
  // addition.
  options.collective = PerfCollective::kBroadcast;
  options.root = 2;
  options.types = {DataType::kInt8};
  options.stepBytes = 20;
  std::vector<std::size_t> sizes;
  for (const PerfCase& c : casesOf(options)) {
    EXPECT_EQ(c.op, PerfOperator::kNone);
    EXPECT_EQ(c.root, 2);
    sizes.push_back(c.bytes());
  }
  EXPECT_THAT(sizes, ElementsAre(16, 36, 56));
  options.collective = PerfCollective::kAllReduce;
  for (const PerfCase& c : casesOf(options)) EXPECT_EQ(c.root, -1);

  // The largest sizes: the next one would overflow.
  options.stepBytes = 0;
  options.minBytes = options.maxBytes = ~std::size_t{0} / 2 + 1;
  EXPECT_EQ(casesOf(options).size(), 2u);
}

TEST(PerfLayout, NothingIsLargerThanAskedFor) {
  for (const PerfCollective collective : allCollectives())
    for (const DataType type : allTypes())
      for (const int ranks : {1, 2, 3, 8, 17})
        for (const std::size_t bytes : {1ul, 8ul, 100ul, 4096ul, 1'000'003ul}) {
          const PerfLayout layout = layoutOf(collective, bytes, type, ranks);
          const std::size_t size = elementBytes(type);
          const auto place = ::testing::Message() << name(collective) << " of " << bytes << " bytes of "
                                                  << name(type) << " on " << ranks << " ranks";
          EXPECT_LE(layout.most() * size, bytes) << place;
          // In place, the last rank's data end within the buffer, too.
          const auto last = static_cast<std::size_t>(ranks - 1);
          EXPECT_LE(last * layout.sendStride + layout.send, layout.most()) << place;
          EXPECT_LE(last * layout.receiveStride + layout.receive, layout.most()) << place;
          const std::size_t blocks = layout.count == 0 ? 1 : layout.most() / layout.count;
          if (blocks > 1) {
            EXPECT_EQ(layout.count * size % 16, 0u) << place;
          }
          if (bytes >= 1000 * static_cast<std::size_t>(ranks)) {
            EXPECT_GT(layout.most() * size, bytes - 16 * static_cast<std::size_t>(ranks)) << place;
          }
        }
}

TEST(PerfPieces, EveryReceivedElementIsExpectedOnce) {
  constexpr std::size_t kBytes = 4096;
  for (const PerfCollective collective : allCollectives())
    for (const int ranks : {1, 2, 4, 8})
      for (int rank = 0; rank < ranks; ++rank) {
        const PerfLayout layout = layoutOf(collective, kBytes, DataType::kFloat32, ranks);
        const int root = ranks - 1;
        std::vector<int> expected(layout.receive, 0);
        for (const Piece& piece : piecesOf(collective, layout.count, ranks, rank, root)) {
          ASSERT_LE(piece.to + piece.count, layout.receive) << name(collective);
          ASSERT_LE(piece.from + piece.count, piece.source == Piece::kAllRanks ? layout.most() : layout.send)
              << name(collective);
          EXPECT_LT(piece.source, ranks);
          for (std::size_t i = 0; i < piece.count; ++i) ++expected[piece.to + i];
        }
        const bool onlyRoot = collective == PerfCollective::kReduce || collective == PerfCollective::kGather;
        const int times = onlyRoot && rank != root ? 0 : 1;
        EXPECT_EQ(std::count(expected.begin(), expected.end(), times),
                  static_cast<std::ptrdiff_t>(expected.size()))
            << name(collective) << " rank " << rank << " of " << ranks;
      }
}

// "source: from -> to" for each piece.
std::vector<std::string> textOf(const std::vector<Piece>& pieces) {
  std::vector<std::string> lines;
  for (const Piece& piece : pieces)
    lines.push_back(std::to_string(piece.source) + ": " + std::to_string(piece.from) + " -> " +
                    std::to_string(piece.to));
  return lines;
}

TEST(PerfPieces, BlocksComeFromTheirRanks) {
  const auto pieces = [](PerfCollective collective, int rank) {
    return textOf(piecesOf(collective, 1, 4, rank, 1));
  };
  const auto firstOfEach = ElementsAre("0: 0 -> 0", "1: 0 -> 1", "2: 0 -> 2", "3: 0 -> 3");
  EXPECT_THAT(pieces(PerfCollective::kAllGather, 2), firstOfEach);
  EXPECT_THAT(pieces(PerfCollective::kHypercube, 2), firstOfEach);
  EXPECT_THAT(pieces(PerfCollective::kGather, 1), firstOfEach);
  EXPECT_THAT(pieces(PerfCollective::kGather, 2), ElementsAre());
  EXPECT_THAT(pieces(PerfCollective::kAllToAll, 2),
              ElementsAre("0: 2 -> 0", "1: 2 -> 1", "2: 2 -> 2", "3: 2 -> 3"));
  EXPECT_THAT(pieces(PerfCollective::kScatter, 3), ElementsAre("1: 3 -> 0"));
  EXPECT_THAT(pieces(PerfCollective::kBroadcast, 3), ElementsAre("1: 0 -> 0"));
  EXPECT_THAT(pieces(PerfCollective::kReduceScatter, 3), ElementsAre("-1: 3 -> 0"));
  EXPECT_THAT(pieces(PerfCollective::kReduce, 1), ElementsAre("-1: 0 -> 0"));
  EXPECT_THAT(pieces(PerfCollective::kReduce, 0), ElementsAre());
  EXPECT_THAT(pieces(PerfCollective::kAllReduce, 0), ElementsAre("-1: 0 -> 0"));
  EXPECT_THAT(pieces(PerfCollective::kSendRecv, 0), ElementsAre("3: 0 -> 0"));
  EXPECT_THAT(pieces(PerfCollective::kSendRecv, 2), ElementsAre("1: 0 -> 0"));
}

TEST(PerfPattern, DataFromTheWrongPlaceOrRankIsWrong) {
  constexpr std::size_t kCount = 3 * kPatternPeriod + 5;
  for (const std::size_t size : {1ul, 2ul, 4ul, 8ul}) {
    std::vector<std::byte> data(kCount * size);
    fillPattern(data.data(), kCount, size, 3);
    EXPECT_EQ(countWrongPattern(data.data(), kCount, size, 3, 0), 0u);
    EXPECT_EQ(countWrongPattern(data.data() + 1000 * size, kCount - 1000, size, 3, 1000), 0u);
    // A byte has 256 values, so a few elements in a hundred may look right by chance.
    constexpr std::size_t kMinWrong = kCount * 95 / 100;
    EXPECT_GT(countWrongPattern(data.data(), kCount, size, 2, 0), kMinWrong) << "another rank's";
    for (const std::size_t offset : {1ul, 16ul, 4096ul, 16384ul, 1ul << 20})
      EXPECT_GT(countWrongPattern(data.data(), kCount, size, 3, offset), kMinWrong) << offset;
    data[kPatternPeriod * size] ^= std::byte{1};
    data[(kCount - 1) * size] ^= std::byte{0x80};
    EXPECT_EQ(countWrongPattern(data.data(), kCount, size, 3, 0), 2u);
  }
}

// A rank's elements as numbers.
std::vector<double> floatsOf(const PerfReduction& data, DataType type, std::size_t count, int rank) {
  const std::size_t size = elementBytes(type);
  std::vector<std::byte> bytes(count * size);
  data.fill(bytes.data(), count, rank);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * size], size);
    values.push_back(decode(formatOf(type), bits));
  }
  return values;
}

TEST(PerfReduction, EveryPartialSumIsExactInItsType) {
  constexpr std::size_t kCount = 100;
  for (const DataType type : allTypes()) {
    if (!isFloat(type)) continue;
    const FloatFormat format = formatOf(type);
    for (const int ranks : {2, 9, 40})
      for (const PerfOperator op : {PerfOperator::kSum, PerfOperator::kMulSum, PerfOperator::kProd}) {
        const PerfReduction data(type, op, ranks);
        std::vector<std::vector<double>> given;
        for (int rank = 0; rank < ranks; ++rank) given.push_back(floatsOf(data, type, kCount, rank));
        std::size_t inexact = 0;
        // Every run of ranks around the ring: all partial sums that a rank may hold.
        for (std::size_t i = 0; i < kCount; ++i)
          for (int first = 0; first < ranks; ++first) {
            double held = op == PerfOperator::kProd ? 1 : 0;
            for (int step = 0; step < ranks; ++step) {
              const int rank = (first + step) % ranks;
              const double value = given[static_cast<std::size_t>(rank)][i];
              if (op == PerfOperator::kProd)
                held *= value;
              else
                held += value * (op == PerfOperator::kMulSum ? PerfReduction::multiplier(rank) : 1);
              inexact += decode(format, encodeExact(format, held)) != held;
            }
          }
        EXPECT_EQ(inexact, 0u) << name(type) << " " << name(op) << " of " << ranks;
      }
  }
}

template <typename Number>
void expectThatResultsAreFound(DataType type) {
  constexpr int kRanks = 5;
  constexpr std::size_t kCount = 2000;
  const std::map<PerfOperator, std::function<Number(Number, Number)>> operators = {
      {PerfOperator::kSum, [](Number a, Number b) { return static_cast<Number>(a + b); }},
      {PerfOperator::kMulSum, [](Number a, Number b) { return static_cast<Number>(a + b); }},
      {PerfOperator::kProd, [](Number a, Number b) { return static_cast<Number>(a * b); }},
      {PerfOperator::kMax, [](Number a, Number b) { return std::max(a, b); }},
      {PerfOperator::kMin, [](Number a, Number b) { return std::min(a, b); }},
  };
  for (const auto& [op, combine] : operators) {
    const PerfReduction data(type, op, kRanks);
    std::vector<Number> result(kCount), given(kCount);
    for (int rank = 0; rank < kRanks; ++rank) {
      data.fill(given.data(), kCount, rank);
      for (std::size_t i = 0; i < kCount; ++i) {
        const auto times = static_cast<Number>(op == PerfOperator::kMulSum ? data.multiplier(rank) : 1);
        const auto value = static_cast<Number>(given[i] * times);
        result[i] = rank == 0 ? value : combine(result[i], value);
      }
    }
    const auto what = ::testing::Message() << name(type) << " " << name(op);
    EXPECT_EQ(data.countWrong(result.data(), kCount, 0), 0u) << what;
    EXPECT_EQ(data.countWrong(&result[100], kCount - 100, 100), 0u) << what;
    EXPECT_GT(data.countWrong(result.data(), kCount, 1), kCount / 5) << what << ", from the wrong place";
    EXPECT_GT(data.countWrong(given.data(), kCount, 0), kCount / 5) << what << ", of one rank only";
    result[7] = static_cast<Number>(result[7] + 1);
    EXPECT_EQ(data.countWrong(result.data(), kCount, 0), 1u) << what;
  }
}

TEST(PerfReduction, SumsAreWhatTheRanksPutIn) {
  expectThatResultsAreFound<std::uint8_t>(DataType::kUint8);
  expectThatResultsAreFound<std::uint32_t>(DataType::kUint32);
  expectThatResultsAreFound<std::uint64_t>(DataType::kUint64);
  expectThatResultsAreFound<float>(DataType::kFloat32);
  expectThatResultsAreFound<double>(DataType::kFloat64);
}

}  // namespace
}  // namespace xylem::cli
