// The list of packages for the scripts (packages.txt) and the one for people (docs/dependencies.md) say the
// same.

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace xylem {
namespace {

using Groups = std::map<std::string, std::set<std::string>>;

std::vector<std::string> lines(const std::string& file) {
  std::ifstream in(std::string(XYLEM_SOURCE_DIR) + "/" + file);
  EXPECT_TRUE(in.is_open()) << file;
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

Groups listed() {
  Groups groups;
  for (const std::string& line : lines("packages.txt")) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string group, package, more;
    EXPECT_TRUE(words >> group >> package) << line;
    EXPECT_FALSE(words >> more) << line;
    EXPECT_TRUE(groups[group].insert(package).second) << package << " twice";
  }
  return groups;
}

Groups documented() {
  Groups groups;
  std::string group;
  const std::regex heading("## .*\\(`([a-z]+)`\\)"), row("\\| `([^`]+)` \\| .+ \\|");
  for (const std::string& line : lines("docs/dependencies.md")) {
    std::smatch match;
    if (std::regex_match(line, match, heading)) group = match[1];
    if (std::regex_match(line, match, row)) groups[group].insert(match[1]);
  }
  return groups;
}

TEST(Packages, AreTheSameForScriptsAndForPeople) {
  EXPECT_EQ(listed(), documented());
  EXPECT_EQ(listed().size(), 4u);
}

}  // namespace
}  // namespace xylem
