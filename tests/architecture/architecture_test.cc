// Holds the code to docs/architecture.md: which module may include which, and the size of files.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "architecture/modules.h"
#include "architecture/names.h"

namespace xylem::architecture {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::ptrdiff_t kMaxLines = 900;
const fs::path kSource = fs::path(XYLEM_SOURCE_DIR) / "src";

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<fs::path> sourceFiles() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kSource)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".h" || extension == ".cc" || extension == ".inl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

ModuleTable ourTable() {
  ModuleTable table = parseModules(read(kSource / "CMakeLists.txt"));
  for (const char* folder : {"include", "include/host"})
    for (const auto& entry : fs::directory_iterator(kSource.parent_path() / folder))
      table.publicHeaders.insert(entry.path().filename().string());
  return table;
}

TEST(Architecture, TheTableOfModulesHasNoCyclesAndKeepsWingsApart) {
  const ModuleTable table = ourTable();
  EXPECT_GE(table.order.size(), 10u) << "src/CMakeLists.txt was not understood";
  EXPECT_THAT(violations(table), IsEmpty());
}

TEST(Architecture, EveryIncludeFollowsAnArrowOfTheTable) {
  const ModuleTable table = ourTable();
  std::vector<std::string> found;
  for (const fs::path& file : sourceFiles()) {
    const auto wrong = violations(table, fs::relative(file, kSource).generic_string(), read(file));
    found.insert(found.end(), wrong.begin(), wrong.end());
  }
  EXPECT_THAT(found, IsEmpty());
}

// A decision that depends on NCCL's version is a field of the rule set, and stages read fields.
TEST(Architecture, NobodyComparesVersionsOutsideOfTheRules) {
  // A comparison with the version of a rule set, with a known version, or with a version that is written out.
  static const std::regex kComparison(
      R"((->|\.)version\s*(<|>|[=!]=)|k(Oldest|Newest)Version|kKnownVersions\[|rules::Version\s*\{)");
  for (const fs::path& file : sourceFiles()) {
    const std::string name = fs::relative(file, kSource).generic_string();
    const std::string text = read(file);
    if (name.starts_with("planner/rules/") || text.find("rules::") == std::string::npos) continue;
    std::istringstream lines(text);
    int number = 1;
    for (std::string line; std::getline(lines, line); ++number)
      EXPECT_FALSE(std::regex_search(line, kComparison)) << name << ":" << number << ": " << line;
  }
}

TEST(Architecture, NoFileIsTooLongToRead) {
  for (const fs::path& file : sourceFiles()) {
    const std::string text = read(file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kMaxLines) << file;
  }
}

TEST(Architecture, NoTwoHeadersDefineOneName) {
  std::map<std::string, fs::path> definedIn;
  for (const fs::path& file : sourceFiles()) {
    if (file.extension() != ".h") continue;
    for (const std::string& name : definedNames(read(file))) {
      const auto [known, isNew] = definedIn.emplace(name, file);
      EXPECT_TRUE(isNew || known->second == file)
          << name << " is defined in " << known->second << " and in " << file;
    }
  }
  EXPECT_GE(definedIn.size(), 500u) << "the headers were not understood";
}

// The namespace of a module is called as its folder; core's is xylem itself, as it is used everywhere. The content of the
// public classes of include/xylem is theirs, wherever it lies (public_plan.h), and C has no namespaces: ncclComm,
// CUstream_st.
TEST(Architecture, EveryModuleHasItsNamespace) {
  const ModuleTable table = ourTable();
  for (const fs::path& file : sourceFiles()) {
    if (file.extension() != ".h" || file.filename().string().starts_with("public_")) continue;
    const fs::path path = fs::relative(file, kSource);
    const std::string folder = table.moduleOf(path.generic_string());
    const std::string module = folder.empty() ? path.begin()->string() : fs::path(folder).filename().string();
    const std::string expected = module == "core" ? "xylem::" : "xylem::" + module + "::";
    for (const std::string& name : definedNames(read(file)))
      EXPECT_TRUE(name.starts_with(expected) || name.starts_with("nccl") || name.starts_with("CU"))
          << path << " defines " << name << " outside of " << expected;
  }
}

constexpr const char* kSmallTable = R"(
xylem_module(core LIBS fmt::fmt)
xylem_module(planner/plan USES core LIBS json)
xylem_module(insight/why USES plan core)
xylem_module(runtime/comm USES plan
             core)
set(PLAN_LIBRARY_MODULES core plan)
set(RUNTIME_MODULES comm)
)";

TEST(Modules, AreReadFromTheTable) {
  const ModuleTable table = parseModules(kSmallTable);
  EXPECT_THAT(table.order, ElementsAre("core", "planner/plan", "insight/why", "runtime/comm"));
  EXPECT_THAT(table.uses.at("runtime/comm"), UnorderedElementsAre("core", "planner/plan"));
  EXPECT_THAT(table.uses.at("core"), IsEmpty());
  EXPECT_THAT(violations(table), IsEmpty());
}

TEST(Modules, AWrongTableIsNamed) {
  ModuleTable table = parseModules(kSmallTable);
  table.uses["core"] = {"planner/plan"};
  table.uses["planner/plan"] = {"planner/plan", "nowhere"};
  table.uses["runtime/comm"] = {"insight/why"};
  EXPECT_THAT(violations(table),
              UnorderedElementsAre(
                  "src/CMakeLists.txt: core may not use planner/plan",
                  "src/CMakeLists.txt: planner/plan uses planner/plan, which does not stand above it",
                  "src/CMakeLists.txt: planner/plan uses nowhere, which is no module",
                  "src/CMakeLists.txt: planner/plan of libxylem-plan uses nowhere, which is not in it",
                  "src/CMakeLists.txt: runtime/comm may not use insight/why"));
}

TEST(Modules, AWrongIncludeIsNamedWithItsLine) {
  const ModuleTable table = parseModules(kSmallTable);
  const char* text =
      "#include <vector>\n\n#include \"runtime/comm/issue/group.h\"\n  # include \"planner/plan/a.h\"  // "
      "own\n"
      "#include \"xylem/plan.h\"\n#include \"near.h\"\n#include \"cli/command_line.h\"\n";
  EXPECT_THAT(
      violations(table, "planner/plan/b.cc", text),
      ElementsAre(
          "src/planner/plan/b.cc:3: planner/plan may not include runtime/comm (runtime/comm/issue/group.h)",
          "src/planner/plan/b.cc:6: \"near.h\" does not name its module",
          "src/planner/plan/b.cc:7: planner/plan may not include cli (cli/command_line.h)"));
  EXPECT_THAT(violations(table, "cli/b.cc", "#include \"runtime/comm/group.h\"\n"), IsEmpty());
  EXPECT_THAT(violations(table, "other/b.cc", ""), ElementsAre("src/other/b.cc:1: this folder is no module"));
}

TEST(Names, OfTypesAliasesAndConstantsAreFoundWithTheirNamespaces) {
  EXPECT_THAT(definedNames(R"(#pragma once
// struct Comment {};
#include <vector>
namespace xylem {
class Declared;
enum class Kind : int { kOne, kTwo };
namespace paths {
template <typename T>
struct alignas(64) Hop final : Base<T> { struct Inside {}; int value{}; };
using Hops = std::vector<Hop<int>>;
constexpr std::array<int, kOther> kSizes = {1, 2};
inline constexpr int kMax = 1'000;
constexpr int lengthOf(int hop) { return hop; }
const char* kind(char c = '{');
}  // namespace paths
struct Last {};
}
)"),
              ElementsAre("xylem::Kind", "xylem::paths::Hop", "xylem::paths::Hops", "xylem::paths::kSizes",
                          "xylem::paths::kMax", "xylem::Last"));
}

TEST(Names, OfNamespacesAreThoseAtTheOutermostLevel) {
  EXPECT_THAT(openedNamespaces(
                  "namespace xylem::paths {\nnamespace {\nint a() { return 1; }\n}\n}\nnamespace fmt { }"),
              ElementsAre("xylem::paths", "fmt"));
}

}  // namespace
}  // namespace xylem::architecture
