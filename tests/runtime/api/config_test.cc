// ncclConfig_t, filled in by C programs.

#include "runtime/api/config.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/error.h"

namespace xylem::api {
namespace {

using ::testing::HasSubstr;

ncclConfig_t with(int ncclConfig_t::*field, int value) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.*field = value;
  return config;
}

void expectRefused(const ncclConfig_t& config, const char* text) {
  try {
    readConfig(&config, "call");
    FAIL() << "was accepted; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

TEST(Config, UntouchedFieldsHaveDefaults) {
  const ncclConfig_t untouched = NCCL_CONFIG_INITIALIZER;
  for (const comm::CommConfig& config : {readConfig(nullptr, "call"), readConfig(&untouched, "call")}) {
    EXPECT_TRUE(config.blocking);
    EXPECT_FALSE(config.splitShare);
    EXPECT_EQ(config.minCtas, 0);
    EXPECT_EQ(config.maxCtas, 0);
    EXPECT_EQ(config.cgaClusterSize, 0);
    EXPECT_EQ(config.trafficClass, -1);
    EXPECT_EQ(config.netName, "");
    EXPECT_EQ(config.name, "");
    EXPECT_EQ(config.collnetEnable, -1);
    EXPECT_EQ(config.nvlsCtas, -1);
    EXPECT_EQ(config.channelsPerNetPeer, -1);
  }
}

TEST(Config, TakesEveryField) {
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  theirs.blocking = 0;
  theirs.cgaClusterSize = 8;
  theirs.minCTAs = 2;
  theirs.maxCTAs = 2;
  theirs.netName = "Socket";
  theirs.splitShare = 1;
  theirs.trafficClass = 3;
  theirs.commName = "trainer";
  theirs.collnetEnable = 1;
  theirs.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  theirs.shrinkShare = 1;
  theirs.nvlsCTAs = 4;
  theirs.nChannelsPerNetPeer = 64;
  theirs.nvlinkCentricSched = 1;
  theirs.version = NCCL_VERSION(2, 30, 7);
  const comm::CommConfig config = readConfig(&theirs, "call");
  EXPECT_FALSE(config.blocking);
  EXPECT_EQ(config.cgaClusterSize, 8);
  EXPECT_EQ(config.minCtas, 2);
  EXPECT_EQ(config.maxCtas, 2);
  EXPECT_EQ(config.netName, "Socket");
  EXPECT_TRUE(config.splitShare);
  EXPECT_EQ(config.trafficClass, 3);
  EXPECT_EQ(config.name, "trainer");
  EXPECT_EQ(config.collnetEnable, 1);
  EXPECT_EQ(config.nvlsCtas, 4);
  EXPECT_EQ(config.channelsPerNetPeer, 64);
}

TEST(Config, RefusesWhatIsOutOfRange) {
  expectRefused(with(&ncclConfig_t::blocking, 2), "call: config.blocking is 2; expected 0 to 1");
  expectRefused(with(&ncclConfig_t::blocking, -1), "config.blocking is -1");
  expectRefused(with(&ncclConfig_t::cgaClusterSize, 9), "config.cgaClusterSize is 9; expected 0 to 8");
  expectRefused(with(&ncclConfig_t::minCTAs, 0), "config.minCTAs is 0; expected at least 1");
  expectRefused(with(&ncclConfig_t::maxCTAs, -3), "config.maxCTAs is -3");
  expectRefused(with(&ncclConfig_t::splitShare, 7), "config.splitShare is 7");
  expectRefused(with(&ncclConfig_t::trafficClass, -1), "config.trafficClass is -1");
  expectRefused(with(&ncclConfig_t::collnetEnable, 2), "config.collnetEnable is 2; expected 0 to 1");
  expectRefused(with(&ncclConfig_t::CTAPolicy, 4), "config.CTAPolicy is 4; expected 0 to 3");
  expectRefused(with(&ncclConfig_t::shrinkShare, -1), "config.shrinkShare is -1");
  expectRefused(with(&ncclConfig_t::nvlsCTAs, 0), "config.nvlsCTAs is 0; expected 1 to 64");
  ncclConfig_t config = with(&ncclConfig_t::minCTAs, 4);
  config.maxCTAs = 2;
  expectRefused(config, "config.minCTAs is 4, more than config.maxCTAs, 2");
  config = NCCL_CONFIG_INITIALIZER;
  config.netName = "";
  expectRefused(config, "config.netName is empty");
}

TEST(Config, FieldsOfLaterVersionsCountFromThese) {
  ncclConfig_t early = with(&ncclConfig_t::nChannelsPerNetPeer, 65);
  expectRefused(early, "config.nChannelsPerNetPeer is 65");  // of a program compiled with our header
  early.version = NCCL_VERSION(2, 27, 7);
  EXPECT_EQ(readConfig(&early, "call").channelsPerNetPeer, -1);
  early.version = NCCL_VERSION(2, 28, 3);
  expectRefused(early, "config.nChannelsPerNetPeer is 65; expected 1 to 64");
  ncclConfig_t config = with(&ncclConfig_t::graphUsageMode, 3);
  config.version = NCCL_VERSION(2, 28, 9);
  EXPECT_NO_THROW(readConfig(&config, "call"))
      << "of a program that was compiled before there was such a field";
  config.version = NCCL_VERSION(2, 29, 2);
  expectRefused(config, "config.graphUsageMode is 3; expected 0 to 2");
  config = with(&ncclConfig_t::graphStreamOrdering, 2);
  config.version = NCCL_VERSION(2, 30, 4);
  EXPECT_NO_THROW(readConfig(&config, "call"));
  config.version = NCCL_VERSION(2, 30, 7);
  expectRefused(config, "config.graphStreamOrdering is 2");
}

TEST(Config, RefusesWhatWasNotInitialized) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.magic = 1;
  expectRefused(config, "NCCL_CONFIG_INITIALIZER");
  config = NCCL_CONFIG_INITIALIZER;
  config.size = 4;
  expectRefused(config, "NCCL_CONFIG_INITIALIZER");
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  EXPECT_NO_THROW(checkSimInfo(info, "call"));
  info.magic = 0;
  EXPECT_THROW(checkSimInfo(info, "call"), Error);
}

TEST(Config, OlderProgramsHaveFewerFields) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.size = offsetof(ncclConfig_t, splitShare);
  config.version = NCCL_VERSION(2, 17, 1);
  config.maxCTAs = 3;
  config.splitShare = 99;  // a field that they do not have
  EXPECT_EQ(readConfig(&config, "call").maxCtas, 3);
  config.version = NCCL_VERSION(2, 14, 3);
  config.blocking = 0;
  EXPECT_EQ(readConfig(&config, "call").maxCtas, 0);
  EXPECT_FALSE(readConfig(&config, "call").blocking);
}

}  // namespace
}  // namespace xylem::api
