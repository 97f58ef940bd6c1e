#include "runtime/transport/choices/two_ways.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/transport/choices/message_ways.h"
#include "runtime/transport/choices/touched_memory.h"

namespace xylem::transport {
namespace {

using std::chrono::nanoseconds;

// Makes operations whose times in both ways are given. Returns how many went the second way.
int run(TwoWays& ways, int operations, const std::function<long(bool second)>& time) {
  int second = 0;
  for (int i = 0; i < operations; ++i) {
    const bool way = ways.second();
    second += way;
    const nanoseconds took(time(way));
    ways.took(way, ways.times() ? std::optional(took) : std::nullopt);
  }
  return second;
}

TEST(TwoWays, TakesTheFasterOneForGood) {
  for (const bool begins : {false, true}) {
    TwoWays ways(begins);
    run(ways, 200, [&](bool second) { return second == begins ? 3000 : 2000; });
    EXPECT_NE(ways.second(), begins);
    const int second = run(ways, 10000, [&](bool way) { return way == begins ? 3000 : 2000; });
    EXPECT_LT(begins ? second : 10000 - second, 300);
  }
}

TEST(TwoWays, AChangeHasTheTimesOfBothWays) {
  TwoWays ways;
  std::vector<WayChange> changes;
  for (int i = 0; i < 1000; ++i) {
    const bool second = ways.second();
    if (const auto change = ways.took(second, nanoseconds(second ? 8100 : 33000))) changes.push_back(*change);
  }
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].second);
  changes[0].bytes = 65536;
  EXPECT_EQ(changeText("AllGather", changes[0]),
            "AllGather of 65536 bytes: read from now on, which took 8.1 us; staged 33.0 us");
  EXPECT_EQ(wayText("AllGather", changes[0]), "AllGather of 65536 bytes read in 8.1 us, staged in 33.0 us");
}

// A program makes few of those.
TEST(TwoWays, LongOperationsTakeTheFasterOneSoon) {
  TwoWays ways;
  run(ways, 13, [](bool second) { return second ? 2'000'000 : 3'000'000; });
  EXPECT_TRUE(ways.second());
  TwoWays others;
  EXPECT_EQ(run(others, 60, [](bool second) { return second ? 3'000'000 : 2'000'000; }), 3);
  EXPECT_FALSE(others.second());
}

TEST(TwoWays, FollowsAMachineThatChanges) {
  TwoWays ways;
  for (int turn = 0; turn < 6; ++turn) {
    const bool secondIsFaster = turn % 2 == 0;
    const auto time = [&](bool second) { return second == secondIsFaster ? 8000 : 33000; };
    run(ways, 5000, time);
    // Some of them may be a trial.
    EXPECT_EQ(run(ways, 100, time) > 50, secondIsFaster) << turn;
  }
}

TEST(TwoWays, FewOperationsAreTimed) {
  TwoWays ways;
  int timed = 0;
  for (int i = 0; i < 10000; ++i) {
    timed += ways.times();
    const bool way = ways.second();
    ways.took(way, ways.times() ? std::optional(nanoseconds(way ? 3000 : 1000)) : std::nullopt);
  }
  EXPECT_LT(timed, 500);
  EXPECT_GT(timed, 100);
  EXPECT_FALSE(ways.second());
}

// The kernel is slow at what it has not done for a while.
TEST(TwoWays, ATrialLastsUntilTheOtherWayIsAsFastAsItGets) {
  TwoWays ways;
  int inARow = 0;
  const auto time = [&](bool second) -> long {
    inARow = second ? inARow + 1 : 0;
    return second ? std::max(2000, 9000 - 1000 * inARow) : 3000;
  };
  run(ways, 1000, time);
  EXPECT_TRUE(ways.second());
}

// As when inputs come into the reader's caches bit by bit, or a hypervisor maps memory when it is used.
TEST(TwoWays, ATrialGoesOnWhileTheOtherWayIsNotClearlySlower) {
  TwoWays ways;
  int inARow = 0;
  const auto time = [&](bool second) -> long {
    inARow = second ? inARow + 1 : 0;
    return !second ? 130'000 : inARow < 12 ? 134'000 : 98'000;
  };
  run(ways, 150, time);
  EXPECT_TRUE(ways.second());
}

// A program's first operations are slow for many reasons. If they are so for long, the other way becomes the usual one, but soon the first is
// tried again.
TEST(TwoWays, SlowFirstOperationsDoNotDecideForLong) {
  for (const Flow flow : {Flow::kBothWays, Flow::kOneWay})
    for (const int slow : {10, 25, 40, 64}) {
      TwoWays ways(false, flow);
      int second = 0, first = -1;
      for (int i = 0; i < 2000; ++i) {
        const bool way = ways.second();
        if (way && first < 0) first = i;
        second += way;
        ways.took(way, nanoseconds(way ? 5000 : i < slow ? 100'000 : 3000));
      }
      EXPECT_GE(first, 20) << slow;
      EXPECT_LT(second, 300) << slow;
      EXPECT_FALSE(ways.second()) << slow;
    }
}

// As where data lies in new memory for some operations.
TEST(TwoWays, ATrialWhoseOperationsTellNothingIsPutOff) {
  TwoWays ways(true);
  int staged = 0, inARow = 0, longest = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool read = ways.second();
    inARow = read ? 0 : inARow + 1;
    longest = std::max(longest, inARow);
    staged += !read;
    const bool isNew = !read && staged <= 100;
    ways.took(read, isNew ? std::nullopt : std::optional(nanoseconds(read ? 5000 : 2000)));
    if (staged <= 100) EXPECT_LE(longest, 20);
  }
  EXPECT_FALSE(ways.second());
}

TEST(TouchedMemory, IsNewOnce) {
  TouchedMemory memory(256 << 10);  // parts of a KiB
  EXPECT_TRUE(memory.touch(0, 1));
  EXPECT_FALSE(memory.touch(100, 924));
  EXPECT_TRUE(memory.touch(1000, 25)) << "one byte of the second part";
  EXPECT_FALSE(memory.touch(1024, 1024));
  EXPECT_TRUE(memory.touch(0, 256 << 10));
  EXPECT_FALSE(memory.touch(0, 256 << 10));
  EXPECT_FALSE(memory.touch(std::size_t{1} << 60, 100)) << "beyond the memory there is none";
  EXPECT_FALSE(TouchedMemory(0).touch(0, 0));
}

TEST(TwoWays, NoiseChangesNothing) {
  std::mt19937 random(3);
  TwoWays ways;
  // Times vary by a tenth, and every fifth operation is disturbed.
  const int second = run(ways, 100000, [&](bool) {
    return static_cast<long>(1000 + random() % 100 + (random() % 5 == 0 ? 5000 : 0));
  });
  EXPECT_FALSE(ways.second());
  EXPECT_LT(second,
            100000 * 20 / (5 * 64));  // trials of twenty, five times as far from each other as those of four
}

// Compared with the time without any trial.
TEST(TwoWays, TrialsCostLittleHoweverSlowTheOtherWayIs) {
  for (const long slower : {1200, 1500, 2000, 3000, 5000, 10000, 100000}) {
    TwoWays ways;
    long all = 0;
    run(ways, 100000, [&](bool second) {
      const long time = second ? slower : 1000;
      all += time;
      return time;
    });
    EXPECT_LT(all, 1000L * 100000 * 103 / 100) << slower;
  }
}

// Others have run ahead of a rank that gets data the first time, or again after a trial.
TEST(TwoWays, TheFirstOperationAfterAChangeMayBeShortForNothing) {
  TwoWays ways;
  bool before = true;
  run(ways, 400, [&](bool second) {
    const bool first = !second && before;
    before = second;
    return second ? 600'000 : first ? 300'000 : 900'000;
  });
  EXPECT_TRUE(ways.second());
}

// A receiver finds the data of some operations there already, and waits for that of several at once.
TEST(TwoWays, WhereDataGoesOneWayTheMeanCounts) {
  for (const long read : {40'000, 90'000}) {
    TwoWays ways(read > 50'000, Flow::kOneWay);
    int staged = 0;
    run(ways, 500, [&](bool second) { return second ? read : ++staged % 4 == 0 ? 200'000 : 12'000; });
    EXPECT_EQ(ways.second(), read < 50'000);
  }
}

// Staging memory that no other rank has read for a while is written faster.
TEST(TwoWays, AWayThatKeepsLessThanItsTrialsPromisedIsLeftSoon) {
  TwoWays ways(true);
  int backs = 0, inARow = 0, second = 0;
  for (int i = 0; i < 10000; ++i) {
    const bool way = ways.second();
    second += way;
    inARow = way ? 0 : inARow + 1;
    const long time = way ? 80'000 : inARow < 20 ? 60'000 : 200'000;
    const auto change = ways.took(way, ways.times() ? std::optional(nanoseconds(time)) : std::nullopt);
    if (!change) continue;
    EXPECT_EQ(change->back, change->second);
    backs += change->back;
  }
  EXPECT_GE(backs, 2);
  EXPECT_LE(backs, 8);
  EXPECT_GT(second, 9500);
}

// A sender that comes late makes both ways longer.
TEST(TwoWays, WaitingForALateSenderCountsForBothWays) {
  for (const bool begins : {false, true}) {
    TwoWays ways(begins, Flow::kOneWay);
    std::mt19937 random(7);
    int second = 0;
    for (int turn = 0; turn < 20; ++turn)
      second += run(ways, 1000,
                    [&](bool way) { return (way ? 40'000 : 20'000) + static_cast<long>(random() % 10'000); });
    EXPECT_LT(second, 1000);
  }
}

// As when the cores become far and near again.
TEST(TwoWays, ATrialThatWasLeftBeginsAgain) {
  TwoWays ways;
  while (!ways.second()) run(ways, 1, [](bool) { return 3000; });
  run(ways, 2, [](bool) { return 2000; });
  ways.resume();
  EXPECT_FALSE(ways.second());
  EXPECT_EQ(run(ways, 8, [](bool) { return 3000; }), 0);
  EXPECT_GE(run(ways, 30, [](bool second) { return second ? 4000 : 3000; }), 4);
  EXPECT_FALSE(ways.second());
}

TEST(TwoWays, OperationsThatBeganBeforeAChangeDoNotCount) {
  TwoWays ways;
  for (int i = 0; i < 1000; ++i) ways.took(true, nanoseconds(1));
  EXPECT_FALSE(ways.second());
}

TEST(WaysBySize, EachPowerOfTwoHasItsOwn) {
  WaysBySize ways([](std::uint64_t bytes) { return bytes >= (1 << 20); });
  EXPECT_FALSE(WaysBySize::has(8191));
  EXPECT_TRUE(WaysBySize::has(8192));
  EXPECT_FALSE(ways.second(8192));
  EXPECT_FALSE(ways.second((1 << 20) - 1));
  EXPECT_TRUE(ways.second(1 << 20));
  EXPECT_TRUE(ways.second(std::uint64_t{1} << 40));
  std::vector<WayChange> changes;
  for (int i = 0; i < 1000; ++i) {
    // As fast per byte.
    const std::uint64_t bytes = 8192 + static_cast<std::uint64_t>(i) * 8;
    const bool second = ways.second(bytes);
    if (const auto change = ways.took(bytes, second, nanoseconds(bytes * (second ? 1 : 2))))
      changes.push_back(*change);
  }
  EXPECT_TRUE(ways.second(8192));
  EXPECT_FALSE(ways.second(131072));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].bytes, 8192u);
  EXPECT_EQ(changes[0].now, nanoseconds(8192));
}

// Cores that have become far from each other are so for all sizes.
TEST(WaysBySize, WhatChangesOneSizeIsExpectedOfTheOthers) {
  WaysBySize ways([](std::uint64_t) { return false; });
  bool far = false;
  // Returns how many operations it takes until they go the other way.
  const auto until = [&](std::uint64_t bytes, bool second, int most) {
    for (int i = 0; i < most; ++i) {
      const bool way = ways.second(bytes);
      const bool fast = way == far;
      if (ways.took(bytes, way, nanoseconds(fast ? 8000 : 33000)) && ways.second(bytes) == second) return i;
    }
    return most;
  };
  EXPECT_EQ(until(131072, true, 3000), 3000);
  EXPECT_EQ(until(1 << 20, true, 3000), 3000);
  far = true;
  EXPECT_LT(until(131072, true, 3000), 3000);
  EXPECT_LT(until(1 << 20, true, 3000), 40);
  EXPECT_TRUE(ways.second(16384) && ways.second(262144));
  EXPECT_FALSE(ways.second(8192));
}

// Staging is fast at first for both, and each change has the other size try again.
TEST(WaysBySize, SizesDoNotMakeEachOtherChangeForEver) {
  WaysBySize ways([](std::uint64_t) { return true; });
  std::array<int, 2> inARow{};
  int staged = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bytes = i % 2 == 0 ? 65536 : 1 << 20;
    const bool read = ways.second(bytes);
    int& row = inARow[static_cast<std::size_t>(i % 2)];
    row = read ? 0 : row + 1;
    staged += !read;
    ways.took(bytes, read, nanoseconds(read ? 200'000 : row < 8 ? 150'000 : 400'000));
  }
  EXPECT_LT(staged, 2000);
}

// Two ranks that send each other messages of a size, or one that sends to the other.
struct RankPair {
  explicit RankPair(const CopyChoices& choices)
      : low(choices, true, [this](std::string_view what, const WayChange&) { told.emplace_back(what); }),
        high(choices, false, [this](std::string_view what, const WayChange&) { told.emplace_back(what); }) {}

  // A message each way at the same time; `time`: of both, by the ways to the higher and to the lower rank.
  void exchange(std::uint64_t bytes, const std::function<long(bool up, bool down)>& time) {
    up = low.sends(bytes, toldLow);
    down = high.sends(bytes, toldHigh);
    const nanoseconds took(time(up, down));
    toldHigh = low.received(bytes, down, low.times(bytes) ? std::optional(took) : std::nullopt);
    toldLow = high.received(bytes, up, high.times(bytes) ? std::optional(took) : std::nullopt);
  }
  void sendUp(std::uint64_t bytes, const std::function<long(bool read)>& time) {
    up = low.sends(bytes, toldLow);
    toldLow = high.received(bytes, up, nanoseconds(time(up)));
  }
  void sendDown(std::uint64_t bytes, const std::function<long(bool read)>& time) {
    down = high.sends(bytes, toldHigh);
    toldHigh = low.received(bytes, down, nanoseconds(time(down)));
  }

  MessageWays low, high;
  std::uint32_t toldLow = 0, toldHigh = 0;  // by the other rank
  bool up = false, down = false;            // the last messages were read
  std::vector<std::string> told;            // changes of both
};

TEST(MessageWays, BothDirectionsOfAnExchangeGoTheSameWay) {
  RankPair pair({});
  int differed = 0;
  // Mixed, both take longer than in any one way.
  const auto machine = [&](long staged, long read) {
    for (int i = 0; i < 3000; ++i)
      pair.exchange(65536, [&](bool up, bool down) {
        differed += up != down;
        return up != down ? 14000 : up ? read : staged;
      });
  };
  machine(33000, 8000);
  EXPECT_TRUE(pair.up && pair.down);
  machine(2700, 7000);
  EXPECT_FALSE(pair.up || pair.down);
  EXPECT_LT(differed, 300);
  EXPECT_EQ(pair.told, (std::vector<std::string>{"messages to and from", "messages to and from"}));
}

TEST(MessageWays, TheReceiverDecidesIfMessagesGoOneWay) {
  RankPair pair({});
  for (int i = 0; i < 300; ++i) pair.sendUp(16384, [](bool read) { return read ? 2000 : 9000; });
  EXPECT_TRUE(pair.up);
  for (int i = 0; i < 300; ++i) pair.sendDown(16384, [](bool read) { return read ? 9000 : 2000; });
  EXPECT_FALSE(pair.down);
  for (int i = 0; i < 300; ++i) pair.sendDown(1 << 20, [](bool read) { return read ? 2000 : 9000; });
  EXPECT_TRUE(pair.down);
  EXPECT_FALSE(pair.high.sends(16384, pair.toldHigh));
  EXPECT_FALSE(pair.told.empty());
  for (const std::string& what : pair.told) EXPECT_EQ(what, "messages from");
}

// Between far cores reading is faster. Once that is known, each change of the distance changes the way.
TEST(MessageWays, WhatIsKnownOfNearAndOfFarCoresIsKeptApart) {
  MessageWays sender({}, false), receiver({}, false);
  std::uint32_t told = 0;
  // Returns how many messages went the slower way.
  const auto send = [&](bool far, int messages) {
    int slower = 0;
    for (int i = 0; i < messages; ++i) {
      const bool read = sender.sends(65536, told);
      slower += read != far;
      const auto time =
          receiver.times(65536) ? std::optional(nanoseconds(read == far ? 8000 : 20000)) : std::nullopt;
      told = receiver.received(65536, read, time, nanoseconds(far ? 300 : 60));
    }
    return slower;
  };
  send(false, 1000);
  EXPECT_GT(send(true, 1000), 20);
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_LT(send(false, 30), 8) << turn;
    EXPECT_LT(send(true, 30), 8) << turn;
  }
}

TEST(MessageWays, WhatWasMeasuredBetweenFarCoresDoesNotHoldForNearOnes) {
  for (const bool measuredFar : {false, true}) {
    const auto choices =
        CopyChoices::fromText(fmt::format("read_from=8192 read_up_to=100000000 far={:d}", measuredFar));
    MessageWays sender(choices, true), receiver(choices, false);
    std::uint32_t told = 0;
    for (const bool far : {measuredFar, !measuredFar}) {
      for (int i = 0; i < 3; ++i) told = receiver.received(4096, true, {}, nanoseconds(far ? 300 : 60));
      for (const std::uint64_t bytes : {65536, 1 << 20}) {
        told = receiver.received(bytes, sender.sends(bytes, told), {});
        EXPECT_EQ(sender.sends(bytes, told), far || !measuredFar || bytes == 1 << 20) << far << bytes;
      }
    }
  }
}

// The receiver finds out and tells the sender, also by little messages, and where all messages go in one way.
TEST(MessageWays, TheSenderHearsWhetherCoresAreFar) {
  for (const bool fixed : {false, true})
    for (const std::uint64_t bytes : {std::uint64_t{2048}, std::uint64_t{65536}})
      for (const bool farFirst : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << "fixed " << fixed << ", bytes " << bytes << ", far first " << farFirst);
        const auto choices = CopyChoices::fromText(farFirst ? "far=1 stream_far=1" : "stream_far=1");
        MessageWays sender(choices, true, {}, fixed), receiver(choices, false, {}, fixed);
        std::uint32_t told = 0;
        EXPECT_EQ(sender.isFar(told), farFirst);
        for (const bool far : {!farFirst, farFirst, !farFirst}) {
          for (int i = 0; i < 3; ++i) told = receiver.received(bytes, false, {}, nanoseconds(far ? 300 : 60));
          EXPECT_EQ(receiver.isFar(), far);
          EXPECT_EQ(sender.isFar(told), far);
          told = receiver.received(bytes, false, {}, {});
          EXPECT_EQ(sender.isFar(told), far) << "a message without a line changes nothing";
        }
        EXPECT_FALSE(sender.sends(bytes, told) && fixed);
      }
}

TEST(MessageWays, TheyBeginWithTheChoices) {
  RankPair pair(CopyChoices::fromText("read_from=65536 read_up_to=1000000"));
  const auto same = [](bool) { return 1000; };
  for (int i = 0; i < 3; ++i) {
    pair.sendUp(8192, same);
    EXPECT_FALSE(pair.up);
    pair.sendUp(65536, same);
    EXPECT_TRUE(pair.up);
  }
}

}  // namespace
}  // namespace xylem::transport
