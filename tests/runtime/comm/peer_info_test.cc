// What a rank knows of the others' places from what they say of themselves.

#include "runtime/comm/join/peer_info.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace xylem {
namespace {

// One rank per mask of cores, on this host.
void addRanks(std::vector<PeerInfo>& peers, std::uint64_t host, std::initializer_list<unsigned long> masks) {
  for (const unsigned long mask : masks) {
    PeerInfo& info = peers.emplace_back();
    info.peer.hostHash = host;
    info.peer.rank = static_cast<int>(peers.size()) - 1;
    info.cores = CoreSet(mask);
  }
}

HostCores coresOf(std::initializer_list<unsigned long> masks) {
  std::vector<PeerInfo> peers;
  addRanks(peers, 1, masks);
  return coresOfHosts(peers, neighbourhoodOf(peers, 0)).front();
}

TEST(HostCores, AreSharedByRanksThatMayUseAnyOfThem) {
  EXPECT_EQ(coresOf({0b11, 0b11}).perRank, 1);
  EXPECT_FALSE(coresOf({0b11, 0b11}).crowded);
  EXPECT_EQ(coresOf({0b1111, 0b1111}).perRank, 2);
  EXPECT_TRUE(coresOf({0b11, 0b11, 0b11}).crowded);
  EXPECT_EQ(coresOf({0b11, 0b11, 0b11}).perRank, 1);
}

TEST(HostCores, OfRanksThatAreBoundAreAllThatTheyHave) {
  EXPECT_FALSE(coresOf({0b01, 0b10}).crowded) << "a core each";
  EXPECT_EQ(coresOf({0b0011, 0b1100}).perRank, 2);
  EXPECT_TRUE(coresOf({0b01, 0b01}).crowded);
  EXPECT_TRUE(coresOf({0b0001, 0b0001, 0b1110}).crowded) << "others' free cores do not help";
}

TEST(HostCores, AreEachHostsOwn) {
  std::vector<PeerInfo> peers;
  addRanks(peers, 7, {0b11, 0b11});
  addRanks(peers, 8, {0b1, 0b1});
  const std::vector<HostCores> hosts = coresOfHosts(peers, neighbourhoodOf(peers, 3));
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_FALSE(hosts[0].crowded);
  EXPECT_TRUE(hosts[1].crowded);
}

}  // namespace
}  // namespace xylem
