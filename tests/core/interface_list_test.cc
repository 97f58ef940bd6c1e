#include "core/interface_list.h"

#include <gtest/gtest.h>

namespace xylem {
namespace {

TEST(InterfaceList, SelectsByPrefixNameAndExclusion) {
  EXPECT_TRUE(interfaceMatches("", "eth0"));
  EXPECT_TRUE(interfaceMatches("eth,ib", "ib0"));
  EXPECT_FALSE(interfaceMatches("eth,ib", "docker0"));
  EXPECT_TRUE(interfaceMatches("=eth0,ib0", "eth0"));
  EXPECT_FALSE(interfaceMatches("=eth", "eth0"));
  EXPECT_FALSE(interfaceMatches("^docker,lo", "docker0"));
  EXPECT_TRUE(interfaceMatches("^docker,lo", "eth0"));
  EXPECT_FALSE(interfaceMatches("^=eth0", "eth0"));
  EXPECT_TRUE(interfaceMatches("^=eth0", "eth01"));
  EXPECT_TRUE(interfaceMatches(",,eth", "eth0"));
  EXPECT_FALSE(interfaceMatches(",", "eth0"));
  EXPECT_TRUE(interfaceMatches("eth0:9999", "eth0"));
}

}  // namespace
}  // namespace xylem
