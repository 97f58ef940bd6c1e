// What README.md and docs/why.md show is what the command prints: each ```console block is a command line and
// its whole output.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

namespace {

struct Example {
  std::string arguments;
  std::string output;
};

std::vector<Example> examples(const std::string& file) {
  std::ifstream in(file);
  std::vector<Example> found;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "```console") {
      found.emplace_back();
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside && line.starts_with("$ xylem ")) {
      found.back().arguments = line.substr(std::string("$ xylem ").size());
    } else if (inside) {
      found.back().output += line + "\n";
    }
  }
  return found;
}

std::string outputOf(const std::string& arguments) {
  const std::string line =
      std::string("cd '") + XYLEM_SOURCE_DIR + "' && env -i '" + XYLEM_COMMAND + "' " + arguments;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(line.c_str(), "r"), &pclose);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), count);
  return output;
}

void expectReal(const std::string& file, std::size_t least) {
  const std::vector<Example> all = examples(std::string(XYLEM_SOURCE_DIR) + "/" + file);
  EXPECT_GE(all.size(), least);
  for (const Example& example : all)
    EXPECT_EQ(outputOf(example.arguments), example.output) << example.arguments;
}

TEST(Readme, ShowsWhatTheCommandPrints) { expectReal("README.md", 2); }

TEST(Guides, ShowWhatTheCommandPrints) { expectReal("docs/why.md", 2); }

}  // namespace
