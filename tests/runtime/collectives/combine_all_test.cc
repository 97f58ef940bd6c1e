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

// Bytes that are no NaN of any type, and not too small for products of a few of them.
Memory numbers(std::size_t bytes, std::mt19937& random) {
  Memory made(bytes);
  for (std::byte& byte : made) byte = static_cast<std::byte>((random() & 0x03) | 0x3c);
  return made;
}

// Each element alone, by the functions of the reduction.
Memory oneByOne(const Reduction& r, const CombineSources& sources, std::size_t n) {
  Memory results(n * r.elementBytes), partial(r.elementBytes);
  const std::size_t ranks = sources.data.size();
  for (std::size_t at = 0; at < results.size(); at += r.elementBytes) {
    std::vector<const std::byte*> from;
    for (const std::byte* source : sources.data) from.push_back(source + at);
    if (r.sumAll != nullptr && (ranks > 2 || r.scales)) {
      r.sumAll(results.data() + at, nullptr, from.data(), sources.factors.data(), static_cast<int>(ranks), 1);
      continue;
    }
    r.enter(partial.data(), from[0], 1, sources.factors[0]);
    for (std::size_t rank = 1; rank + 1 < ranks; ++rank)
      r.combine(partial.data(), partial.data(), from[rank], 1, sources.factors[rank]);
    r.finish(results.data() + at, nullptr, partial.data(), from.back(), 1, sources.factors.back());
  }
  return results;
}

// Each rank multiplies by a factor of its own, where that is the operation.
std::vector<Factor> factorsOf(const Reduction& r, std::size_t ranks) {
  std::vector<Factor> factors(ranks, r.factor);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    factors[rank].element.fill(static_cast<std::byte>(0x3b + rank));
  return factors;
}

// Several blocks, and outputs that begin at different bytes of a line.
void check(const Reduction& r, std::size_t ranks, std::mt19937& random) {
  constexpr std::size_t kBytes = 17016, kMost = 5, kOffsets[kMost] = {40, 40, 3, 104, 0};
  const std::size_t n = kBytes / r.elementBytes;
  std::vector<Memory> inputs;
  std::vector<const std::byte*> data;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    data.push_back(inputs.emplace_back(numbers(kBytes, random)).data());
  const std::vector<Factor> factors = factorsOf(r, ranks);
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
        check(r, ranks, random);
      }
}

TEST(CombineAll, PutsResultsWhereASourceIs) {
  std::mt19937 random(8);
  for (const DataType type : {DataType::kInt32, DataType::kFloat32, DataType::kBfloat16})
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg})
      for (const int ranks : {2, 3})
        for (const bool streaming : {false, true}) {
          const Reduction r = chooseReduction(type, op, ranks);
          std::vector<Memory> inputs;
          std::vector<const std::byte*> data;
          std::vector<std::byte*> out;
          for (int rank = 0; rank < ranks; ++rank) {
            out.push_back(inputs.emplace_back(numbers(20000, random)).data());
            data.push_back(out.back());
          }
          const std::vector<Factor> factors(data.size(), r.factor);
          const std::size_t n = 20000 / r.elementBytes;
          const Memory wanted = oneByOne(r, {data, factors}, n);
          combineAll(r, {data, factors}, out, n, streaming);
          EXPECT_THAT(inputs, ::testing::Each(wanted)) << name(type) << ", " << ranks << " ranks";
        }
}

}  // namespace
}  // namespace xylem::collectives
