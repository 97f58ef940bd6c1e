// Plans every machine of the zoo, and of the directory that XYLEM_TEST_GOLDEN names, and compares with the
// golden plans: NAME.VARIANT.json is the expected plan of the machine NAME.xml. Plans in folders called
// `xylem` are older plans of Xylem's, of machines without a plan of NCCL's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "golden/compare.h"
#include "golden/files.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/plan_log.h"
#include "planner/plan/planner.h"
#include "support/sanitizers.h"

namespace xylem::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Settings settingsOf(const json& input) {
  Settings settings;
  for (const auto& [name, value] : input["settings"].items())
    if (const SettingSpec* spec = findSetting(name)) settings.set(*spec, value.get<std::string>(), "golden");
  return settings;
}

std::shared_ptr<const topology::Document> readOnce(const fs::path& file) {
  static std::map<std::string, std::shared_ptr<const topology::Document>> known;
  auto& document = known[file.string()];
  if (!document) document = std::make_shared<const topology::Document>(topology::readTopology(file.string()));
  return document;
}

plan::PlanRequest requestOf(const json& input, const fs::path& golden) {
  plan::PlanRequest request;
  request.nccl = rulesOf(input);
  request.offered = {input.value("nvls", false), input.value("collnet", false)};
  request.fuse = input.value("fuse", false);
  if (!input.contains("jobs")) {
    request.hosts.push_back({readOnce(machineOf(golden, input["topology"])), {}, input["hosts"]});
    return request;
  }
  request.hostsListed = true;
  for (const json& job : input["jobs"]) {
    plan::HostRequest host{readOnce(machineOf(golden, job["topology"])), {}, job["count"]};
    if (!job["gpus"].is_null()) host.gpus = job["gpus"].get<std::vector<int>>();
    request.hosts.push_back(std::move(host));
  }
  return request;
}

struct Tally {
  int equal = 0, different = 0;
};

void check(const fs::path& file, Tally& tally) {
  const json expected = json::parse(std::ifstream(file));
  std::string difference;
  try {
    const plan::Plan plan = plan::planJob(requestOf(expected["input"], file), settingsOf(expected["input"]));
    if (!expected.contains("error"))
      difference = firstDifference(expected, json::parse(plan::jsonText(plan::toJson(plan)))).value_or("");
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
        (folder == "own" || folder == "cloud" || folder == "mixed" || folder == "nccl" || folder == "xylem"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::size_t place = 0;
  std::erase_if(files, [&](const fs::path&) { return place++ % testing::kMachineStride != 0; });
  ASSERT_FALSE(files.empty()) << directory << " holds no golden plan";
  Tally tally;
  for (const fs::path& file : files) check(file, tally);
  std::printf("%s: %d plans equal, %d different\n", directory.c_str(), tally.equal, tally.different);
}

void checkLog(const fs::path& log, const fs::path& golden) {
  const json input = json::parse(std::ifstream(golden))["input"];
  const plan::Plan plan = plan::planJob(requestOf(input, golden), settingsOf(input));
  std::istringstream actual(plan::logText(plan::planLog(plan)));
  std::ifstream file(log);
  int number = 1;
  for (std::string expected, line; std::getline(file, expected); ++number) {
    ASSERT_TRUE(std::getline(actual, line)) << log << " has more than " << number - 1 << " lines";
    ASSERT_EQ(expected, line) << log << ":" << number;
  }
  std::string more;
  EXPECT_FALSE(std::getline(actual, more)) << log << " ends before: " << more;
}

// NAME.VARIANT.log is NCCL's log of the plan NAME.VARIANT.json, which has the question.
void checkLogs(const fs::path& logs, const std::vector<fs::path>& folders) {
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(logs)) {
    for (const fs::path& folder : folders) {
      const fs::path golden = folder / (entry.path().stem().string() + ".json");
      if (!fs::exists(golden)) continue;
      checkLog(entry.path(), golden);
      ++compared;
    }
  }
  EXPECT_GT(compared, 0) << logs;
}

TEST(Golden, LogsOfTheZoo) { checkLogs(repositoryGoldens() / "logs", {repositoryGoldens() / "nccl"}); }

TEST(Golden, LogsOfTheExtraDirectory) {
  const char* directory = std::getenv("XYLEM_TEST_GOLDEN");
  const fs::path extra = directory == nullptr ? fs::path() : fs::path(directory);
  if (!fs::exists(extra / "logs")) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory with logs";
  checkLogs(extra / "logs", {extra / "own", extra / "cloud"});
}

TEST(Golden, Zoo) { checkDirectory(repositoryGoldens()); }

TEST(Golden, EveryMachineOfTheZooHasPlans) {
  const fs::path goldens = repositoryGoldens();
  int machines = 0;
  for (const auto& entry : fs::directory_iterator(zoo())) {
    if (entry.path().extension() != ".xml") continue;
    ++machines;
    for (const char* hosts : {".n1.json", ".n2.json"}) {
      const std::string plan = entry.path().stem().string() + hosts;
      EXPECT_TRUE(fs::exists(goldens / "nccl" / plan) != fs::exists(goldens / "xylem" / plan))
          << plan << " lies in neither or both of tests/golden/nccl and xylem: run tools/zoo plans";
    }
  }
  EXPECT_GE(machines, 100);
}

TEST(Golden, ExtraDirectory) {
  const char* directory = std::getenv("XYLEM_TEST_GOLDEN");
  if (directory == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory of further golden plans";
  checkDirectory(directory);
}

}  // namespace
}  // namespace xylem::golden
