#include "runtime/collectives/combine_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace xylem::collectives {
namespace {

using Memory = std::vector<std::byte>;

// Ordinary numbers of every type: neither they nor their products are NaN or denormal.
Memory numbers(std::size_t bytes, std::mt19937& random) {
  Memory made(bytes);
  for (std::byte& byte : made) byte = static_cast<std::byte>((random() & 0x3b) | 0x30);
  return made;
}

// Each element alone, for two ranks by the function that makes results, for more of them rank by rank.
Memory oneByOne(const Reduction& r, const CombineSources& sources, std::size_t n) {
  Memory results(n * r.elementBytes);
  for (std::size_t at = 0; at < results.size(); at += r.elementBytes) {
    std::vector<const std::byte*> from;
    for (const std::byte* source : sources.data) from.push_back(source + at);
    std::byte* const out = results.data() + at;
    combineAll(r, {from, sources.factors}, {&out, 1}, 1, false);
  }
  return results;
}

// Several blocks, and outputs that begin at different bytes of a line.
void check(const Reduction& r, std::size_t ranks, std::mt19937& random) {
  constexpr std::size_t kBytes = 17016, kMost = 5, kOffsets[kMost] = {40, 40, 3, 104, 0};
  const std::size_t n = kBytes / r.elementBytes;
  std::vector<Memory> inputs;
  std::vector<const std::byte*> data;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    data.push_back(inputs.emplace_back(numbers(kBytes, random)).data());
  const std::vector<Factor> factors(ranks, r.factor);
  const Memory wanted = oneByOne(r, {data, factors}, n);
  for (const bool streaming : {false, true})
    for (std::size_t outputs = 1; outputs <= kMost; ++outputs) {
      std::vector<Memory> memory(outputs, Memory(kBytes + 128));
      std::vector<std::byte*> out;
      for (std::size_t i = 0; i < outputs; ++i) out.push_back(memory[i].data() + kOffsets[i]);
      combineAll(r, {data, factors}, out, n, streaming);
      for (const std::byte* got : out)
        ASSERT_EQ(std::memcmp(got, wanted.data(), wanted.size()), 0)
            << outputs << " outputs" << (streaming ? ", streaming" : "");
    }
}

TEST(CombineAll, GivesAllOutputsTheSameBlockByBlockAndAtOnce) {
  std::mt19937 random(7);
  for (int type = 0; type < kDataTypes; ++type)
    for (int op = 0; op <= kPreMulSum; ++op)
      for (const std::size_t ranks : {2, 3, 6}) {
        SCOPED_TRACE(::testing::Message() << name(static_cast<DataType>(type)) << ", operation " << op << ", "
                                          << ranks << " ranks");
        Reduction r = chosenReductions()[type][op];
        r.factor.scale = 1.0 / static_cast<double>(ranks);
        r.factor.divisor = static_cast<std::int64_t>(ranks);
        r.factor.element.fill(std::byte{0x38});
        check(r, ranks, random);
      }
}

TEST(CombineAll, PutsResultsWhereASourceIs) {
  std::mt19937 random(8);
  for (const std::size_t ranks : {2, 3}) {
    const Reduction r = chooseReduction(DataType::kInt32, ReduceOp::kSum, static_cast<int>(ranks));
    std::vector<Memory> inputs;
    std::vector<const std::byte*> data;
    std::vector<std::byte*> out;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      out.push_back(inputs.emplace_back(numbers(20000, random)).data());
      data.push_back(out.back());
    }
    const std::vector<Factor> factors(ranks, r.factor);
    const Memory wanted = oneByOne(r, {data, factors}, 5000);
    combineAll(r, {data, factors}, out, 5000, false);
    EXPECT_THAT(inputs, ::testing::Each(wanted));
  }
}

}  // namespace
}  // namespace xylem::collectives
