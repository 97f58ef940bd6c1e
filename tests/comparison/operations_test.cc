// The definitions of the compared operations, and the functions that compute and check them: they must agree.

#include "comparison/operations.h"

#include <gmock/gmock.h>

#include <numeric>

#include "comparison/combine.h"
#include "comparison/exchange.h"

namespace xylem::bench {
namespace {

TEST(ComparedOperations, HaveNamesThatAreReadBack) {
  for (const Operation operation : kAllOperations) EXPECT_EQ(operationNamed(name(operation)), operation);
  EXPECT_EQ(operationNamed("all-reduce"), std::nullopt);
}

TEST(ComparedOperations, GiveEveryRankWholeElements) {
  EXPECT_EQ(wholeBytes(Operation::kAllReduce, 8, 9), 12u);
  EXPECT_EQ(wholeBytes(Operation::kAllGather, 8, 8), 32u);
  EXPECT_EQ((Case{Operation::kAllToAll, 4, 64}).count(), 4u);
  EXPECT_EQ((Case{Operation::kBroadcast, 4, 64}).count(), 16u);
  EXPECT_EQ((Case{Operation::kAllToAll, 4, 64}).inputElements(1), 16u);
  EXPECT_EQ((Case{Operation::kReduceScatter, 4, 64}).inputElements(1), 16u);
  EXPECT_EQ((Case{Operation::kAllGather, 4, 64}).inputElements(1), 4u);
  EXPECT_EQ((Case{Operation::kReduce, 4, 64}).inputElements(1), 16u);
  for (const Operation operation : {Operation::kBroadcast, Operation::kSend}) {
    EXPECT_EQ((Case{operation, 4, 64}).inputElements(0), 16u) << name(operation);
    EXPECT_EQ((Case{operation, 4, 64}).inputElements(1), 0u) << name(operation);
  }
}

// Every element of an output has one origin, and pieces stay within the buffers.
TEST(ComparedOperations, FillTheirOutputsOnce) {
  for (const Operation operation : kAllOperations)
    for (const int ranks : {2, 3, 8}) {
      const Case c{operation, ranks, wholeBytes(operation, ranks, 4096)};
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<int> filled(c.elements());
        for (const Piece& piece : piecesOf(c, rank)) {
          ASSERT_LE(piece.to + piece.count, c.elements()) << name(operation);
          ASSERT_LE(piece.from + piece.count, c.elements()) << name(operation);
          for (std::uint64_t i = 0; i < piece.count; ++i) ++filled[piece.to + i];
        }
        for (const int times : filled) ASSERT_LE(times, 1) << name(operation) << " on rank " << rank;
      }
    }
}

TEST(ComparedOperations, InPlaceHaveTheirInputWhereTheirOwnPartOfTheOutputIs) {
  const auto placeOf = [](Operation operation, int rank) {
    EXPECT_EQ(ownPlace({operation, 4, 64}, rank), std::nullopt) << "out of place";
    return ownPlace({operation, 4, 64, true}, rank);
  };
  EXPECT_EQ(placeOf(Operation::kAllReduce, 3), 0u);
  EXPECT_EQ(placeOf(Operation::kAllGather, 3), 12u);
  EXPECT_EQ(placeOf(Operation::kReduce, kRoot), 0u);
  EXPECT_EQ(placeOf(Operation::kReduce, 1), std::nullopt);
  for (const Operation operation :
       {Operation::kReduceScatter, Operation::kBroadcast, Operation::kAllToAll, Operation::kSendReceive})
    EXPECT_EQ(placeOf(operation, 1), std::nullopt);
}

TEST(ComparedOperations, WrongElementsAreCounted) {
  const Case c{Operation::kAllReduce, 4, 1024};
  std::vector<float> out(c.elements());
  for (std::uint64_t i = 0; i < out.size(); ++i)
    for (int rank = 0; rank < c.ranks; ++rank) out[i] += inputValue(rank, i);
  EXPECT_EQ(countWrong(c, 2, out.data()), 0u);
  out[7] += 1;
  std::swap(out[100], out[101]);
  EXPECT_EQ(countWrong(c, 2, out.data()), 3u);
  makeStale(c, out.data());
  EXPECT_EQ(countWrong(c, 2, out.data()), c.elements());
}

TEST(ComparedOperations, TwoRanksTellEachOtherWhatTheyHaveTo) {
  const auto counts = [](Operation operation) {
    const Exchange e = exchangeOf({operation, 2, 64});
    return std::pair{e.from[0].count, e.from[1].count};
  };
  EXPECT_EQ(counts(Operation::kAllReduce), (std::pair<std::uint64_t, std::uint64_t>{16, 16}));
  EXPECT_EQ(counts(Operation::kBroadcast), (std::pair<std::uint64_t, std::uint64_t>{16, 0}));
  EXPECT_EQ(counts(Operation::kReduce), (std::pair<std::uint64_t, std::uint64_t>{0, 16}));
  EXPECT_EQ(counts(Operation::kAllToAll), (std::pair<std::uint64_t, std::uint64_t>{8, 8}));
  const Exchange scattered = exchangeOf({Operation::kReduceScatter, 2, 64});
  EXPECT_EQ(scattered.from[0].start, 8u);  // rank 1's half
  EXPECT_EQ(scattered.from[1].start, 0u);
}

// Any number of inputs and outputs, lengths that do not fill a vector, outputs that are not aligned.
TEST(Combine, AddsAndCopies) {
  constexpr std::size_t kMost = 203;
  std::vector<std::vector<float>> in(3, std::vector<float>(kMost));
  for (std::size_t s = 0; s < in.size(); ++s)
    std::iota(in[s].begin(), in[s].end(), static_cast<float>(100 * s));
  for (const Stores stores : {Stores::kPlain, Stores::kStreaming})
    for (std::size_t ins = 1; ins <= 3; ++ins)
      for (std::size_t outs = 1; outs <= 3; ++outs)
        for (const std::size_t shift : {0, 1})
          for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{64}, kMost}) {
            alignas(64) std::array<std::array<float, 256>, 3> out{};
            std::array<const float*, 3> from{};
            std::array<float*, 3> to{};
            for (std::size_t i = 0; i < 3; ++i) {
              from[i] = in[i].data();
              to[i] = out[i].data() + shift;
            }
            combine({from.data(), ins}, {to.data(), outs}, count, stores);
            finishStreaming();
            for (std::size_t d = 0; d < 3; ++d)
              for (std::size_t i = 0; i < kMost; ++i) {
                float expected = 0;
                for (std::size_t s = 0; s < ins && d < outs && i < count; ++s) expected += in[s][i];
                ASSERT_EQ(to[d][i], expected)
                    << ins << " to " << outs << ", element " << i << " of " << count;
              }
          }
}

}  // namespace
}  // namespace xylem::bench
