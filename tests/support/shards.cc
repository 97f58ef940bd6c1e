// ctest runs a test program in several processes and gives each its share of the cases by GoogleTest's
// variables. A test often starts the same program in another role, which has one case to run: that process
// must not inherit the share.

#include <gtest/gtest.h>

#include <cstdlib>

namespace xylem::testing {
namespace {

class WithoutShards : public ::testing::Environment {
 public:
  // GoogleTest has read them by now.
  void SetUp() override {
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
  }
};

const auto* const kWithoutShards = ::testing::AddGlobalTestEnvironment(new WithoutShards);

}  // namespace
}  // namespace xylem::testing
