#pragma once
// Runs a fuzzer's corpus (tests/fuzz/corpus/NAME) as a test of the normal builds. Names say what to expect:
// `bad-…` must be refused, `good-…` accepted, others may be either.
//
//   const Replayed replayed = replayCorpus("topology", feedTopology);

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace xylem {

struct Replayed {
  int accepted = 0, refused = 0;
};

// `feed` tells whether the bytes were accepted.
template <typename Feed>
Replayed replayCorpus(const std::string& corpus, const Feed& feed) {
  Replayed replayed;
  const auto folder = std::filesystem::path(XYLEM_SOURCE_DIR) / "tests/fuzz/corpus" / corpus;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const bool accepted = feed(std::string_view(bytes.str()));
    ++(accepted ? replayed.accepted : replayed.refused);
    if (name.starts_with("bad-") || name.starts_with("good-")) {
      EXPECT_EQ(accepted, name.starts_with("good-"));
    }
  }
  return replayed;
}

}  // namespace xylem
