#include "runtime/transport/net/rail_watch.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/namespaces.h"

namespace xylem {
namespace {

constexpr std::chrono::seconds kSilence{1};

// Whether the watch finds, within so long, that nobody answers while nothing moves.
bool becomesSilent(RailWatch& watch, std::chrono::seconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (std::chrono::steady_clock::now() < end) {
    if (watch.silent(7)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

RailWatch between(int from, int to) {
  return {SocketAddress::parse(Namespaces::address(from) + ":0"),
          SocketAddress::parse(Namespaces::address(to) + ":9"), kSilence};
}

class RailWatched : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(RailWatched, AHostThatRefusesIsThere) {
  const Namespaces hosts(2);
  EXPECT_EQ(hosts.run(0,
                      [] {
                        RailWatch watch = between(0, 1);
                        return becomesSilent(watch, 3 * kSilence) ? 1 : 0;
                      }),
            0);
}

TEST_F(RailWatched, WhoLooksAgainAfterAWhileAsksAnew) {
  const Namespaces hosts(2);
  EXPECT_EQ(hosts.run(0,
                      [] {
                        RailWatch watch = between(0, 1);
                        for (int look = 0; look < 4; ++look) {
                          if (watch.silent(7)) return 1;
                          std::this_thread::sleep_for(kSilence);
                        }
                        return 0;
                      }),
            0);
}

TEST_F(RailWatched, AHostBehindACutCableIsSilentAndComesBack) {
  const Namespaces hosts(2);
  hosts.cut(1);
  EXPECT_EQ(hosts.run(0,
                      [&] {
                        RailWatch watch = between(0, 1);
                        if (!becomesSilent(watch, std::chrono::seconds(30))) return 1;
                        hosts.mend(1);
                        for (int look = 0; look < 3000; ++look) {
                          if (!watch.silent(7)) return 0;
                          std::this_thread::sleep_for(std::chrono::milliseconds(10));
                        }
                        return 2;
                      }),
            0);
}

// Whatever the cable is like: something has come.
TEST_F(RailWatched, WhatMovesIsNotSilent) {
  const Namespaces hosts(2);
  hosts.cut(1);
  EXPECT_EQ(hosts.run(0,
                      [] {
                        RailWatch watch = between(0, 1);
                        for (std::uint64_t moved = 0; moved < 150; ++moved) {
                          if (watch.silent(moved)) return 1;
                          std::this_thread::sleep_for(std::chrono::milliseconds(10));
                        }
                        return 0;
                      }),
            0);
}

}  // namespace
}  // namespace xylem
