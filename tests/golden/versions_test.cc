// Compares plans with those that other versions of NCCL make of the same jobs: XYLEM_TEST_GOLDEN/versions/plans.tar.xz holds
// VERSION/NAME.json, VERSION/mixed, VERSION/graphs and VERSION/graphfile with what differs from the version before, and
// same-as-before.txt with the names of what does not. The test unpacks it into its build folder and keeps it there.
//
//   XYLEM_TEST_VERSION=2.27.7    compares that version alone
//   XYLEM_TEST_NAME=gb200        compares the plans whose names contain that text

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "golden/compare.h"
#include "golden/files.h"
#include "planner/plan/graph_dump.h"
#include "planner/plan/plan_json.h"
#include "planner/plan/planner.h"
#include "support/sanitizers.h"

namespace xylem::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Unpacks an archive into the build folder, unless that has been done.
fs::path unpacked(const fs::path& archive) {
  const fs::path folder = fs::path(XYLEM_BINARY_DIR) / "golden-versions";
  const fs::path done = folder / ("unpacked-" + std::to_string(fs::file_size(archive)));
  if (fs::exists(done)) return folder;
  const fs::path own = folder.string() + "." + std::to_string(::getpid());
  fs::create_directories(own);
  const std::string command = "tar xJf '" + archive.string() + "' -C '" + own.string() + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  std::ofstream(own / done.filename());
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fs::rename(own, folder, ignored);  // another test of the same build may have been faster
  return folder;
}

// Plans the jobs of goldens by the rules of one version.
class Replay {
 public:
  Replay(std::shared_ptr<const rules::RuleSet> rules, std::vector<fs::path> machines, fs::path graphFiles)
      : rules_(std::move(rules)), folders_(std::move(machines)), graphFiles_(std::move(graphFiles)) {}

  plan::Plan planOf(const json& input) {
    std::map<std::string, std::string> pairs;
    for (const auto& [name, value] : input["settings"].items()) pairs[name] = value.get<std::string>();
    if (const auto graphs = pairs.find("NCCL_GRAPH_FILE"); graphs != pairs.end())
      graphs->second = (graphFiles_ / graphs->second).string();
    const Settings settings = Settings::fromPairs(pairs, "golden");
    plan::PlanRequest request;
    request.nccl = rules_;
    request.offered = {input.value("nvls", false), input.value("collnet", false)};
    request.fuse = input.value("fuse", false);
    request.graphFile = search::graphFileOf(settings);
    request.hostsListed = input.contains("jobs");
    if (!request.hostsListed) {
      request.hosts.push_back({read(input["topology"]), {}, input["hosts"]});
      return plan::planJob(request, settings);
    }
    for (const json& job : input["jobs"]) {
      plan::HostRequest host{read(job["topology"]), {}, job["count"]};
      if (!job["gpus"].is_null()) host.gpus = job["gpus"].get<std::vector<int>>();
      request.hosts.push_back(std::move(host));
    }
    return plan::planJob(request, settings);
  }

  // The first difference between a golden and the plan of its job; empty if there is none.
  std::string difference(const fs::path& file) {
    const json expected = json::parse(std::ifstream(file));
    try {
      const plan::Plan plan = planOf(expected["input"]);
      if (expected.contains("error")) return "";
      return firstDifference(expected, json::parse(plan::jsonText(plan::toJson(plan)))).value_or("");
    } catch (const Error& error) {
      return expected.contains("error") ? "" : error.what();
    }
  }

 private:
  std::shared_ptr<const topology::Document> read(const std::string& name) {
    auto& known = machines_[name];
    for (const fs::path& folder : folders_)
      if (!known && fs::exists(folder / name))
        known = std::make_shared<const topology::Document>(topology::readTopology((folder / name).string()));
    if (!known) throw std::runtime_error("no machine " + name);
    return known;
  }

  std::shared_ptr<const rules::RuleSet> rules_;
  std::vector<fs::path> folders_;  // of machines
  fs::path graphFiles_;
  std::map<std::string, std::shared_ptr<const topology::Document>> machines_;
};

class Versions : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* named = std::getenv("XYLEM_TEST_GOLDEN");
    if (named == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory of further goldens";
    base_ = named;
    if (!fs::exists(base_ / "versions/plans.tar.xz"))
      GTEST_SKIP() << named << " has no versions/plans.tar.xz";
    const char* only = std::getenv("XYLEM_TEST_VERSION");
    if (only != nullptr && std::string(only) != GetParam()) GTEST_SKIP() << "XYLEM_TEST_VERSION=" << only;
    // The archive has one folder at its top.
    versions_ = unpacked(base_ / "versions/plans.tar.xz");
    for (const auto& entry : fs::directory_iterator(versions_))
      if (entry.is_directory()) versions_ = entry.path();
    rules_ = rules::rulesOf(rules::parseVersion(GetParam()).value());
    replay_.emplace(rules_, std::vector<fs::path>{base_ / "own", base_ / "cloud", versions_ / "new"},
                    base_ / "graphfile");
  }

  // The names of all plans of this version (`dgxh100.n2`, `mixed/…`, `graphs/…`, `graphfile/…`), and the file of each: that
  // of the newest version, up to this one, that has one of its own.
  std::map<std::string, fs::path> files() const {
    std::map<std::string, fs::path> found;
    for (const char* folder : {"own", "cloud"}) add(base_ / folder, "", found);
    add(base_ / "mixed", "mixed/", found);
    for (const char* folder : {"graphs", "graphfile"}) add(base_ / folder, std::string(folder) + "/", found);
    std::set<std::string> compared;
    for (const rules::Version& version : rules::kKnownVersions) {
      if (version > rules_->version) break;
      const fs::path folder = versions_ / rules::versionText(version);
      if (version == rules::kOldestVersion) {
        for (const auto& [name, file] : found) compared.insert(name);
      } else {
        compared.clear();
        std::ifstream same(folder / "same-as-before.txt");
        for (std::string name; std::getline(same, name);) {
          const std::string end = ".graph.xml";
          compared.insert(name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name);
        }
      }
      std::map<std::string, fs::path> own;
      add(folder, "", own);
      for (const char* inner : {"mixed", "graphs", "graphfile"})
        if (fs::exists(folder / inner)) add(folder / inner, std::string(inner) + "/", own);
      for (const auto& [name, file] : own) {
        found[name] = file;
        compared.insert(name);
      }
    }
    std::erase_if(found, [&](const auto& entry) { return !compared.contains(entry.first); });
    return found;
  }

  static void add(const fs::path& folder, const std::string& prefix, std::map<std::string, fs::path>& found) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      for (const std::string end : {".json", ".graph.xml"})
        if (name.ends_with(end) && (end == ".json") == (prefix != "graphs/"))
          found[prefix + name.substr(0, name.size() - end.size())] = entry.path();
    }
  }

  // graphs/NAME.nH is the dump of a job of H hosts like NAME.xml.
  std::string dumpDifference(const std::string& name, const fs::path& file) {
    const std::size_t dot = name.rfind(".n");
    const json input = {{"topology", name.substr(0, dot) + ".xml"},
                        {"hosts", std::stoi(name.substr(dot + 2))},
                        {"settings", json::object()}};
    try {
      const std::string dump = plan::graphDump(replay_->planOf(input), 0);
      if (dump == textOf(file)) return "";
      return "another text:\n" + dump.substr(0, 600);
    } catch (const Error& error) {
      return error.what();
    }
  }

  fs::path base_, versions_;
  std::shared_ptr<const rules::RuleSet> rules_;
  std::optional<Replay> replay_;
};

// A few plans of each version that are part of the repository: tests/golden/versions/VERSION/NAME.json.
TEST(VersionsOfTheRepository, ArePlannedAsNcclDoes) {
  const fs::path folder = repositoryGoldens() / "versions";
  int plans = 0;
  for (const rules::Version& version : rules::kKnownVersions) {
    Replay replay(rules::rulesOf(version), {folder, zoo()}, folder);
    for (const auto& entry : fs::directory_iterator(folder / rules::versionText(version))) {
      EXPECT_EQ(replay.difference(entry.path()), "") << entry.path();
      ++plans;
    }
  }
  EXPECT_GT(plans, 20);
}

TEST_P(Versions, PlansAndGraphFiles) {
  const char* wanted = std::getenv("XYLEM_TEST_NAME");
  int equal = 0;
  int different = 0;
  std::size_t place = 0;
  for (const auto& [name, file] : files()) {
    if (wanted != nullptr && name.find(wanted) == std::string::npos) continue;
    if (place++ % testing::kMachineStride != 0) continue;
    const std::string difference =
        name.starts_with("graphs/") ? dumpDifference(name.substr(7), file) : replay_->difference(file);
    difference.empty() ? ++equal : ++different;
    EXPECT_EQ(difference, "") << GetParam() << " " << name;
  }
  if (wanted == nullptr) {
    EXPECT_GT(equal, 0);
  }
  std::printf("NCCL %s: %d plans and graph files equal, %d different\n", GetParam(), equal, different);
}

INSTANTIATE_TEST_SUITE_P(Nccl, Versions,
                         ::testing::Values("2.25.1", "2.26.2", "2.27.7", "2.28.9", "2.29.7", "2.30.7"),
                         [](const auto& version) {
                           std::string name = version.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace xylem::golden
