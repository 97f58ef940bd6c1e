// Gathers over all ranks and over some.

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/bootstrap/job.h"
#include "runtime/bootstrap/roster.h"

namespace xylem::bootstrap {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;

// The data of rank `rank` in call number `call`: different content and length for each.
std::vector<std::byte> dataOf(int rank, int call) {
  std::vector<std::byte> bytes(static_cast<std::size_t>((rank * 37 + call * 101) % 300));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(rank * 7 + call * 3 + static_cast<int>(i));
  return bytes;
}

void gatherEverything(Bootstrap& bootstrap, int call) {
  const int n = bootstrap.ranks();
  const auto numbers = bootstrap.allGather(bootstrap.rank() * 1000 + call);
  ASSERT_EQ(numbers.size(), static_cast<std::size_t>(n));
  const auto speeches = bootstrap.allGatherBytes(dataOf(bootstrap.rank(), call), 1000);
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(numbers[static_cast<std::size_t>(r)], r * 1000 + call);
    EXPECT_EQ(speeches[static_cast<std::size_t>(r)], dataOf(r, call)) << r << " of " << n;
  }
  bootstrap.barrier();
}

class Gather : public ::testing::TestWithParam<int> {};

TEST_P(Gather, EverybodyHearsEverybody) {
  Job job(GetParam());
  job.run([](Bootstrap& bootstrap) {
    for (int call = 0; call < 3; ++call) gatherEverything(bootstrap, call);
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Gather, ::testing::Range(1, 34));

class SeveralRoots : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(SeveralRoots, EveryRankIsInTheRing) {
  const auto [ranks, roots] = GetParam();
  Job job(ranks, 20, roots);
  job.run([](Bootstrap& bootstrap) { gatherEverything(bootstrap, 0); });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(RanksAndRoots, SeveralRoots,
                         ::testing::Values(std::pair{2, 2}, std::pair{3, 2}, std::pair{3, 3}, std::pair{4, 7},
                                           std::pair{10, 4}, std::pair{17, 5}, std::pair{1, 3}));

TEST(Blocks, AreContiguousAndEven) {
  rc::check([] {
    const int ranks = *rc::gen::inRange(1, 500);
    const Blocks blocks{.ranks = ranks, .roots = *rc::gen::inRange(1, ranks + 1)};
    int next = 0;
    for (int root = 0; root < blocks.roots; ++root) {
      RC_ASSERT(blocks.first(root) == next);
      RC_ASSERT(blocks.count(root) >= ranks / blocks.roots);
      RC_ASSERT(blocks.count(root) <= ranks / blocks.roots + 1);
      for (int i = 0; i < blocks.count(root); ++i) RC_ASSERT(blocks.rootOf(next++) == root);
    }
    RC_ASSERT(next == ranks);
  });
}

// Every rank has the same random groups. The ranks of each group gather, in an order that differs from group
// to group, while other groups gather as well.
TEST(Groups, GatherAmongThemselvesWhateverOthersDo) {
  rc::check([] {
    const int ranks = *rc::gen::inRange(2, 14);
    const auto seed = *rc::gen::arbitrary<unsigned>();
    std::vector<std::vector<int>> groups;
    std::srand(seed);
    for (int g = 0; g < 5; ++g) {
      std::vector<int> group(static_cast<std::size_t>(ranks));
      std::iota(group.begin(), group.end(), 0);
      for (std::size_t i = group.size(); i > 1; --i)
        std::swap(group[i - 1], group[static_cast<std::size_t>(std::rand()) % i]);
      group.resize(1 + static_cast<std::size_t>(std::rand()) % group.size());
      groups.push_back(group);
    }
    Job job(ranks);
    job.run([&](Bootstrap& bootstrap) {
      for (int round = 0; round < 2; ++round)
        for (const auto& group : groups) {
          if (std::find(group.begin(), group.end(), bootstrap.rank()) == group.end()) continue;
          EXPECT_EQ(bootstrap.allGatherAmong(group, bootstrap.rank()), group);
          bootstrap.intraHostBarrier(group);
        }
      bootstrap.barrier();
    });
    RC_ASSERT(std::all_of(job.errors().begin(), job.errors().end(), [](auto& e) { return e.empty(); }));
  });
}

TEST(Groups, TellTheFirstOfThemAlone) {
  Job job(11);
  const std::vector<int> odd{1, 3, 5, 7, 9};
  const std::vector<int> even{4, 0, 2, 10, 8, 6};
  job.run([&](Bootstrap& bootstrap) {
    const auto& mine = bootstrap.rank() % 2 == 1 ? odd : even;
    for (int call = 0; call < 3; ++call) {
      const auto heard =
          bootstrap.gatherBytesAmong(mine, dataOf(bootstrap.rank(), call), 1000, "what ranks say");
      if (bootstrap.rank() != mine.front()) {
        EXPECT_TRUE(heard.empty());
        continue;
      }
      ASSERT_EQ(heard.size(), mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_EQ(heard[i], dataOf(mine[i], call));
    }
    gatherEverything(bootstrap, 3);
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Groups, MustHoldTheCallerAndRanksThatExist) {
  Job job(2);
  job.run([](Bootstrap& bootstrap) {
    const std::vector<int> other{1 - bootstrap.rank()};
    EXPECT_THROW(bootstrap.barrierAmong(other), Error);
    const std::vector<int> wrong{bootstrap.rank(), 2};
    EXPECT_THROW(bootstrap.barrierAmong(wrong), Error);
    bootstrap.barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Gather, RefusesMoreBytesThanAllowed) {
  Job job(2);
  job.run([](Bootstrap& bootstrap) {
    bootstrap.allGatherBytes(std::vector<std::byte>(bootstrap.rank() == 0 ? 1000 : 10), 100);
  });
  EXPECT_THAT(job.error(0), HasSubstr("1000"));
  EXPECT_FALSE(job.error(1).empty());
}

TEST(Gather, RefusesMoreBytesThanOthersAllow) {
  Job job(3);
  job.run([](Bootstrap& bootstrap) {
    bootstrap.allGatherBytes(std::vector<std::byte>(100), bootstrap.rank() == 1 ? 10000 : 100);
    bootstrap.allGatherBytes(std::vector<std::byte>(bootstrap.rank() == 1 ? 1000 : 10),
                             bootstrap.rank() == 1 ? 10000 : 100, "the second");
  });
  EXPECT_THAT(job.error(0), HasSubstr("rank 1 announces 1000 bytes in the second"));
}

TEST(Gather, BlocksThatDoNotFitIntoSocketBuffers) {
  Job job(5);
  job.run([](Bootstrap& bootstrap) {
    // Sending and receiving have to overlap.
    const auto bytesOf = [](int rank) { return static_cast<std::size_t>(rank) * 1'000'000; };
    const std::vector<std::byte> mine(bytesOf(bootstrap.rank()), static_cast<std::byte>(bootstrap.rank()));
    const auto all = bootstrap.allGatherBytes(mine, std::size_t{8} << 20);
    for (int r = 0; r < bootstrap.ranks(); ++r) {
      const auto& block = all[static_cast<std::size_t>(r)];
      ASSERT_EQ(block.size(), bytesOf(r));
      EXPECT_TRUE(block.empty() || block.back() == static_cast<std::byte>(r));
    }
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Gather, HundredsOfRanksInOneProcess) {
  Job job(256, 60);
  job.run([](Bootstrap& bootstrap) {
    const auto all = bootstrap.allGather(bootstrap.rank());
    for (int r = 0; r < bootstrap.ranks(); ++r) ASSERT_EQ(all[static_cast<std::size_t>(r)], r);
    bootstrap.barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

}  // namespace
}  // namespace xylem::bootstrap
