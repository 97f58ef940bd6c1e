// Which files the variables of plugins name.

#include "runtime/plugins/library_names.h"

#include <gmock/gmock.h>

namespace xylem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LibraryNames, FollowNcclsRules) {
  EXPECT_THAT(libraryNames(kNetPrefix, ""), ElementsAre("libnccl-net.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "ofi"), ElementsAre("ofi", "libnccl-net-ofi.so"));
  EXPECT_THAT(libraryNames(kTunerPrefix, "ofi"), ElementsAre("ofi", "libnccl-tuner-ofi.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "/opt/a.so"), ElementsAre("/opt/a.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "libmine.so"), ElementsAre("libmine.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "libmine.so.1"),
              ElementsAre("libmine.so.1", "libnccl-net-libmine.so.1.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "None"), IsEmpty());
  EXPECT_THAT(libraryNames(kNetPrefix, "static_PLUGIN"), ElementsAre(""));
  EXPECT_THAT(libraryNames(kNetPrefix, "STATIC_PLUGIN2"),
              ElementsAre("STATIC_PLUGIN2", "libnccl-net-STATIC_PLUGIN2.so"));
}

TEST(LibraryNames, ListsAreSplitAtCommas) {
  EXPECT_THAT(pluginEntries(""), ElementsAre(""));
  EXPECT_THAT(pluginEntries("a"), ElementsAre("a"));
  EXPECT_THAT(pluginEntries("a,,b/c.so,"), ElementsAre("a", "b/c.so"));
}

}  // namespace
}  // namespace xylem
