// Holds the code to docs/architecture.md: which room may include which, and the size of files.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "architecture/rooms.h"

namespace xylem::architecture {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::ptrdiff_t kMostLines = 450;
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

RoomTable ourTable() {
  RoomTable table = parseRooms(read(kSource / "CMakeLists.txt"));
  for (const char* folder : {"include", "include/host"})
    for (const auto& entry : fs::directory_iterator(kSource.parent_path() / folder))
      table.publicHeaders.insert(entry.path().filename().string());
  return table;
}

TEST(Architecture, TheTableOfRoomsHasNoCycles) {
  const RoomTable table = ourTable();
  EXPECT_GE(table.order.size(), 10u) << "src/CMakeLists.txt was not understood";
  EXPECT_THAT(violations(table), IsEmpty());
}

TEST(Architecture, EveryIncludeFollowsAnArrowOfTheTable) {
  const RoomTable table = ourTable();
  std::vector<std::string> found;
  for (const fs::path& file : sourceFiles()) {
    const auto wrong = violations(table, fs::relative(file, kSource).generic_string(), read(file));
    found.insert(found.end(), wrong.begin(), wrong.end());
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(Architecture, NoFileIsLongerThanOneIdea) {
  for (const fs::path& file : sourceFiles()) {
    const std::string text = read(file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kMostLines) << file;
  }
}

constexpr const char* kSmallTable = R"(
xylem_room(core LIBS fmt::fmt)
xylem_room(plan USES core LIBS json)
xylem_room(comm USES plan
           core)
set(PLANNER_ROOMS core plan)
set(RUNTIME_ROOMS comm)
)";

TEST(Rooms, AreReadFromTheTable) {
  const RoomTable table = parseRooms(kSmallTable);
  EXPECT_THAT(table.order, ElementsAre("core", "plan", "comm"));
  EXPECT_THAT(table.uses.at("comm"), UnorderedElementsAre("core", "plan"));
  EXPECT_THAT(table.uses.at("core"), IsEmpty());
  EXPECT_THAT(violations(table), IsEmpty());
}

TEST(Rooms, AWrongTableIsNamed) {
  RoomTable table = parseRooms(kSmallTable);
  table.uses["core"] = {"plan"};
  table.uses["plan"] = {"comm", "nowhere"};
  EXPECT_THAT(violations(table),
              UnorderedElementsAre("src/CMakeLists.txt: core uses plan, which does not stand above it",
                                   "src/CMakeLists.txt: plan uses comm, which does not stand above it",
                                   "src/CMakeLists.txt: the planner's plan uses the runtime's comm",
                                   "src/CMakeLists.txt: plan uses nowhere, which is no room"));
}

TEST(Rooms, AWrongIncludeIsNamedWithItsLine) {
  const RoomTable table = parseRooms(kSmallTable);
  const char* text =
      "#include <vector>\n\n#include \"comm/comm.h\"\n  # include \"plan/a.h\"  // own\n"
      "#include \"xylem/plan.h\"\n#include \"near.h\"\n#include \"cli/command_line.h\"\n";
  EXPECT_THAT(violations(table, "plan/b.cc", text),
              ElementsAre("src/plan/b.cc:3: plan may not include comm (comm/comm.h)",
                          "src/plan/b.cc:6: \"near.h\" does not name its room",
                          "src/plan/b.cc:7: plan may not include cli (cli/command_line.h)"));
  EXPECT_THAT(violations(table, "cli/b.cc", "#include \"comm/comm.h\"\n"), IsEmpty());
  EXPECT_THAT(violations(table, "other/b.cc", ""), ElementsAre("src/other/b.cc:1: other is no room"));
}

}  // namespace
}  // namespace xylem::architecture
