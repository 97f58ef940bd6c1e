// Plans every machine of the zoo, and of the directory that XYLEM_TEST_GOLDEN names, and compares with the
// golden plans beside them: NAME.xml is a machine, NAME.VARIANT.json the plan expected of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "golden/compare.h"
#include "plan/plan_json.h"
#include "plan/planner.h"

namespace xylem::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What a golden may ask for that the planner cannot do yet; such cases are counted, not compared.
bool isPlanned(const json& expected) {
  const json& input = expected["input"];
  return input.contains("topology") && !input.value("nvls", false) && !input.value("collnet", false) &&
         !input.value("fuse", false);
}

Settings settingsOf(const json& input) {
  Settings settings;
  for (const auto& [name, value] : input["settings"].items())
    if (const SettingSpec* spec = findSetting(name)) settings.set(*spec, value.get<std::string>(), "golden");
  return settings;
}

struct Tally {
  int equal = 0, different = 0, skipped = 0;
};

void check(const fs::path& file, Tally& tally) {
  const json expected = json::parse(std::ifstream(file));
  if (!isPlanned(expected)) {
    ++tally.skipped;
    return;
  }
  const json& input = expected["input"];
  const fs::path topology = file.parent_path() / input["topology"].get<std::string>();
  std::string difference;
  try {
    const Plan plan =
        planJob({readTopology(topology.string()), input["hosts"].get<int>()}, settingsOf(input));
    if (!expected.contains("error"))
      difference = firstDifference(expected, json::parse(planToJson(plan))).value_or("");
  } catch (const Error& error) {
    if (!expected.contains("error")) difference = error.what();
  }
  difference.empty() ? ++tally.equal : ++tally.different;
  EXPECT_EQ(difference, "") << file.filename().string();
}

void checkDirectory(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const fs::path folder = entry.path().parent_path().filename();
    if (entry.path().extension() == ".json" &&
        (folder == "own" || folder == "cloud" || folder == "topologies"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << directory << " holds no golden plan";
  Tally tally;
  for (const fs::path& file : files) check(file, tally);
  std::printf("%s: %d plans equal, %d different, %d of graphs not planned yet\n", directory.c_str(),
              tally.equal, tally.different, tally.skipped);
}

TEST(Golden, Zoo) { checkDirectory(fs::path(XYLEM_SOURCE_DIR) / "topologies"); }

TEST(Golden, ExtraDirectory) {
  const char* directory = std::getenv("XYLEM_TEST_GOLDEN");
  if (directory == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory of further golden plans";
  checkDirectory(directory);
}

}  // namespace
}  // namespace xylem::golden
