#pragma once
// The output expected of ranks that a launcher has started correctly.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/launch/shell.h"

namespace xylem::testing {

// Checks the output of kPerf: every rank is on its host, with the device that its number there gives it, and
// has the right result.
inline void expectRanks(const Ended& ended, const std::vector<std::string>& hostOfRank) {
  using ::testing::ContainsRegex;
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, ::testing::HasSubstr("Out of bounds values : 0 OK"));
  std::map<std::string, int> onHost;
  for (std::size_t rank = 0; rank < hostOfRank.size(); ++rank) {
    const std::string& host = hostOfRank[rank];
    EXPECT_THAT(ended.output,
                ContainsRegex(fmt::format("Rank +{} .* on +{} device +{} ", rank, host, onHost[host]++)));
  }
  EXPECT_THAT(ended.output, ::testing::Not(ContainsRegex(fmt::format("Rank +{} ", hostOfRank.size()))));
}

// Checks the output of kProgram.
inline void expectSum(const Ended& ended, int ranks) {
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, ::testing::HasSubstr(fmt::format("all_reduce over {} ranks: {}, right", ranks,
                                                             ranks * (ranks - 1) / 2)));
}

}  // namespace xylem::testing
