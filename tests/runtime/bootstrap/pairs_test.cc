// Messages between any two ranks, and splits.

#include <gmock/gmock.h>

#include <barrier>
#include <cstring>
#include <numeric>

#include "runtime/bootstrap/job.h"

namespace xylem::bootstrap {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;

std::vector<std::byte> bytesOf(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string textOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Messages, FromEveryRankToEveryRank) {
  Job job(7);
  job.run([](Bootstrap& bootstrap) {
    const int n = bootstrap.ranks();
    for (int peer = 0; peer < n; ++peer)
      bootstrap.send(peer, 5, bytesOf(fmt::format("{} to {}", bootstrap.rank(), peer)));
    for (int peer = n - 1; peer >= 0; --peer)
      EXPECT_EQ(textOf(bootstrap.receive(peer, 5)), fmt::format("{} to {}", peer, bootstrap.rank()));
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Messages, KeepTheirOrderPerTagAndWaitUntilAskedFor) {
  Job job(3);
  job.run([](Bootstrap& bootstrap) {
    if (bootstrap.rank() == 0) {
      for (int i = 0; i < 20; ++i)
        bootstrap.send(2, static_cast<std::uint64_t>(i % 2), bytesOf(std::to_string(i)));
    } else if (bootstrap.rank() == 2) {
      for (int i = 1; i < 20; i += 2) EXPECT_EQ(textOf(bootstrap.receive(0, 1)), std::to_string(i));
      for (int i = 0; i < 20; i += 2) EXPECT_EQ(textOf(bootstrap.receive(0, 0)), std::to_string(i));
    }
    bootstrap.barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Messages, LargeOnesCross) {
  Job job(4);
  job.run([](Bootstrap& bootstrap) {
    const int peer = bootstrap.rank() ^ 2;
    const std::vector<std::byte> large(5'000'000, static_cast<std::byte>(bootstrap.rank()));
    bootstrap.send(peer, 1, large);
    EXPECT_EQ(bootstrap.receive(peer, 1), std::vector<std::byte>(5'000'000, static_cast<std::byte>(peer)));
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Messages, NobodyToSendToIsAnError) {
  Job job(2);
  job.run([](Bootstrap& bootstrap) {
    EXPECT_THROW(bootstrap.send(2, 0, {}), Error);
    EXPECT_THROW(bootstrap.receive(-1, 0), Error);
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

// No connection breaks, as there is none yet: the waiting rank has to connect to notice.
TEST(Messages, ARankThatEndedWithoutAConnectionIsNoticed) {
  Job job(5);
  std::barrier left(5);
  job.run([&](Bootstrap& bootstrap) {
    bootstrap.barrier();
    if (bootstrap.rank() == 3) return left.arrive_and_drop();
    left.arrive_and_wait();
    if (bootstrap.rank() == 1) bootstrap.receive(3, 0);
  });
  EXPECT_THAT(job.error(1), HasSubstr("rank 3 ended"));
}

void exchangeInside(Bootstrap& part, const std::vector<int>& expected, int self) {
  EXPECT_EQ(part.ranks(), static_cast<int>(expected.size()));
  EXPECT_EQ(expected[static_cast<std::size_t>(part.rank())], self);
  EXPECT_EQ(part.allGather(self), expected);
  const int next = (part.rank() + 1) % part.ranks();
  const int previous = (part.rank() + part.ranks() - 1) % part.ranks();
  part.send(next, 9, bytesOf(std::to_string(self)));
  EXPECT_EQ(textOf(part.receive(previous, 9)), std::to_string(expected[static_cast<std::size_t>(previous)]));
}

TEST(Split, PartsRenumberAndOutliveTheWhole) {
  Job job(23);
  std::vector<std::unique_ptr<Bootstrap>> parts(23);
  const auto members = [](int color) {
    std::vector<int> list;
    for (int r = 22; r >= 0; --r)
      if (r % 3 == color) list.push_back(r);
    return list;
  };
  job.run([&](Bootstrap& whole) {
    const auto self = static_cast<std::size_t>(whole.rank());
    parts[self] = whole.split(members(whole.rank() % 3));
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
  // The bootstrap that it was split from is gone.
  std::vector<std::thread> threads;
  for (int r = 0; r < 23; ++r)
    threads.emplace_back([&, r] {
      try {
        exchangeInside(*parts[static_cast<std::size_t>(r)], members(r % 3), r);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Split, PartsArePartedAgainWhileOthersDoSomethingElse) {
  Job job(8);
  job.run([](Bootstrap& whole) {
    if (whole.rank() >= 6) return whole.barrier();
    const std::vector<int> six{0, 1, 2, 3, 4, 5};
    const auto part = whole.split(six);
    // Two splits with the same members are independent of each other.
    const std::vector<int> pair = part->rank() < 2   ? std::vector<int>{1, 0}
                                  : part->rank() < 4 ? std::vector<int>{2, 3}
                                                     : std::vector<int>{5, 4};
    const auto first = part->split(pair);
    const auto second = part->split(pair);
    exchangeInside(*second, pair, whole.rank());
    exchangeInside(*first, pair, whole.rank());
    const std::vector<int> self{first->rank()};
    EXPECT_EQ(first->split(self)->allGather(3), std::vector<int>{3});
    exchangeInside(*part, six, whole.rank());
    whole.barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Split, AFailureInAPartLeavesTheWholeAlone) {
  Job job(4);
  job.run([](Bootstrap& whole) {
    if (whole.rank() < 2) {
      try {
        // Rank 1 may receive the error before its own call has ended.
        const auto part = whole.split(std::vector<int>{0, 1});
        if (part->rank() == 0) {
          part->abort("rank 0 gave the part up");
        } else {
          part->barrier();
          ADD_FAILURE() << "nobody noticed";
        }
      } catch (const Error& error) {
        EXPECT_EQ(whole.rank(), 1);
        EXPECT_STREQ(error.what(), "rank 0 gave the part up");
      }
    }
    whole.barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

}  // namespace
}  // namespace xylem::bootstrap
