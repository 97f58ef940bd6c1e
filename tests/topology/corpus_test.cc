// Replays the fuzzer's corpus in the normal builds: every input that once broke something goes there and
// stays.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/topology_input.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

TEST(Corpus, EveryTopologyIsReadOrRefused) {
  int accepted = 0, refused = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(XYLEM_SOURCE_DIR) / "tests/fuzz/corpus/topology")) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const bool isMachine = feedTopology(bytes.str());
    ++(isMachine ? accepted : refused);
    // The names say what to expect.
    const std::string name = entry.path().filename().string();
    if (name.starts_with("bad-") || name.starts_with("good-")) {
      EXPECT_EQ(isMachine, name.starts_with("good-"));
    }
  }
  EXPECT_GE(accepted, 10);
  EXPECT_GE(refused, 10);
}

}  // namespace
}  // namespace xylem
