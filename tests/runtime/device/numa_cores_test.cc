// NUMA nodes of machines made of files, and the cores that are near one of them.

#include "runtime/device/numa_cores.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/temporary_directory.h"

namespace xylem::device {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CoresOfList, HasNumbersAndRanges) {
  EXPECT_EQ(coresOfList("0-3,8"), CoreSet(0b1'0000'1111));
  EXPECT_EQ(coresOfList("5"), CoreSet(0b10'0000));
  EXPECT_EQ(coresOfList(""), CoreSet());
}

TEST(CoresOfList, LeavesOutWhatIsNoCore) {
  EXPECT_EQ(coresOfList("x,-1,2,1024,99999999999999999999,,3-"), CoreSet(0b1100));
  EXPECT_EQ(coresOfList("1022-5000").count(), 2U);
  EXPECT_EQ(coresOfList("7-4").count(), 0U);
}

TEST(NumaNodes, AreThoseWithCores) {
  const TemporaryDirectory root;
  EXPECT_THAT(numaNodes(root / "."), IsEmpty()) << "the kernel tells nothing";
  const auto write = [&](const std::string& file, const std::string& text) {
    const std::filesystem::path path = root / ("sys/devices/system/node/" + file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  };
  write("online", "0-2,5");
  write("node0/cpulist", "0-1,4-5");
  write("node1/cpulist", "2-3,6-7");
  write("node2/cpulist", "");  // has memory only
  write("node5/cpulist", "8");
  EXPECT_THAT(numaNodes(root / "."),
              ElementsAre(CoreSet(0b0011'0011), CoreSet(0b1100'1100), CoreSet(0b1'0000'0000)));
}

const std::vector<CoreSet> kTwoNodes{CoreSet(0b0000'1111), CoreSet(0b1111'0000)};

TEST(CoresNear, OfOneNodeAreAll) {
  const std::vector<CoreSet> one{CoreSet(0b1111)};
  EXPECT_EQ(coresNear(CoreSet(0b1111), one, CoreSet(1U << 2), 4), CoreSet(0b1111));
  EXPECT_EQ(coresNear(CoreSet(0b0110), one, CoreSet(1U << 2), 2), CoreSet(0b0110));
  EXPECT_EQ(coresNear(CoreSet(0b1111), {}, CoreSet(1U << 2), 2), CoreSet(0b1111)) << "no nodes are known";
}

TEST(CoresNear, OfTwoNodesAreThoseOfTheOneWithTheCore) {
  EXPECT_EQ(coresNear(CoreSet(0b1111'1111), kTwoNodes, CoreSet(1U << 0), 4), CoreSet(0b0000'1111));
  EXPECT_EQ(coresNear(CoreSet(0b1111'1111), kTwoNodes, CoreSet(1U << 7), 4), CoreSet(0b1111'0000));
  EXPECT_EQ(coresNear(CoreSet(0b0111'0111), kTwoNodes, CoreSet(1U << 5), 2), CoreSet(0b0111'0000));
}

TEST(CoresNear, AreAllWhereTheNodeHasTooFewForTheThreads) {
  EXPECT_EQ(coresNear(CoreSet(0b1111'1111), kTwoNodes, CoreSet(1U << 0), 5), CoreSet(0b1111'1111));
  EXPECT_EQ(coresNear(CoreSet(0b1111'0001), kTwoNodes, CoreSet(1U << 0), 2), CoreSet(0b1111'0001));
}

TEST(CoresNear, OfACoreThatIsNotAllowedAreTheOthersOfItsNode) {
  EXPECT_EQ(coresNear(CoreSet(0b1111'0110), kTwoNodes, CoreSet(1U << 0), 2), CoreSet(0b0000'0110));
  EXPECT_EQ(coresNear(CoreSet(0b1111'0000), kTwoNodes, CoreSet(1U << 0), 2), CoreSet(0b1111'0000))
      << "it has none";
  EXPECT_EQ(coresNear(CoreSet(0b1111'0000), kTwoNodes, CoreSet(1U << 0), 0), CoreSet(0b1111'0000))
      << "nor for no threads";
}

TEST(CoresNear, AreAllWhereTheCallerIsOnNoNodeOrOnSeveral) {
  for (const unsigned long caller : {0UL, 0b1'0000'0000UL, 0b1'0000'0001UL, 0b0001'1000UL, 0b1111'1111UL})
    EXPECT_EQ(coresNear(CoreSet(0b1111'1111), kTwoNodes, CoreSet(caller), 2), CoreSet(0b1111'1111)) << caller;
  EXPECT_EQ(coresNear(CoreSet(0b1111'1111), kTwoNodes, CoreSet(0b0110'0000), 2), CoreSet(0b1111'0000));
}

}  // namespace
}  // namespace xylem::device
