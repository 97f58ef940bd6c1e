// Computes the tuning of every golden plan of the zoo, and of the directory that XYLEM_TEST_GOLDEN names,
// from the golden's decisions of the stages before, and compares.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "golden/files.h"
#include "planner/tuning/choice.h"
#include "planner/tuning/golden_job.h"
#include "planner/tuning/tuning_log.h"

namespace xylem::golden {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kTolerance = 1e-4;

bool near(double a, double b) {
  return std::fabs(a - b) <= kTolerance * std::max(std::fabs(a), std::fabs(b));
}

// Collects all differences of one plan, one line each.
class Comparison {
 public:
  Comparison(const tuning::TuningModel& model, const json& expected) : model_(model), expected_(expected) {}

  std::string differences() {
    for (const Collective c : kAllCollectives) {
      compareModel(c, expected_["model"][name(c)]);
      for (const json& choice : expected_["choice"][name(c)]) compareChoice(c, choice);
    }
    compareTable("maxThreads", model_.maxThreads);
    compareTable("threadThresholds", model_.threadThreshold);
    return text_;
  }

 private:
  template <typename... Args>
  void differ(fmt::format_string<Args...> text, Args&&... args) {
    text_ += fmt::format(text, std::forward<Args>(args)...) + '\n';
  }

  void compareModel(Collective c, const json& expected) {
    for (const Algorithm a : kAllAlgorithms)
      for (const Protocol p : kAllProtocols) {
        const json* entry = nullptr;
        if (expected.contains(name(a)) && expected[name(a)].contains(name(p)))
          entry = &expected[name(a)][name(p)];
        const std::string what = fmt::format("{} {}/{}", name(c), name(a), name(p));
        if ((entry != nullptr) != model_.usable(c, a, p)) {
          const tuning::Candidate candidate{a, p, 0, model_.excluded[c][a][p]};
          differ("{}: expected {}, got: {}", what, entry != nullptr ? entry->dump() : "nothing",
                 tuning::explain(candidate, {.collective = c}, model_));
        } else if (entry != nullptr) {
          const float latency = model_.latency[c][a][p];
          const float bandwidth = model_.bandwidth[c][a][p];
          if (!near((*entry)["latency"], latency) || !near((*entry)["bandwidth"], bandwidth))
            differ("{}: expected {}, got {} us {} GB/s", what, entry->dump(), latency, bandwidth);
        }
      }
  }

  void compareChoice(Collective c, const json& expected) {
    const tuning::Choice choice =
        tuning::choose(model_, {.collective = c, .bytes = expected["bytes"].get<std::uint64_t>()});
    const tuning::Candidate* best = choice.best();
    if (best == nullptr) {
      if (expected.contains("algorithm")) differ("{}: expected {}, got no choice", name(c), expected.dump());
      return;
    }
    if (!expected.contains("algorithm") || expected["algorithm"] != name(best->algorithm) ||
        expected["protocol"] != name(best->protocol) || !near(expected["time"], best->time) ||
        expected["channels"] != choice.channels || expected["warps"] != choice.warps)
      differ("{}: expected {}, got {}/{} {} us {} channels {} warps", name(c), expected.dump(),
             name(best->algorithm), name(best->protocol), best->time, choice.channels, choice.warps);
  }

  template <typename Table>
  void compareTable(const char* key, const Table& table) {
    for (const Algorithm a : kAllAlgorithms)
      for (const Protocol p : kAllProtocols)
        if (const json& expected = expected_[key][name(a)][static_cast<std::size_t>(p)];
            expected != table[a][p])
          differ("{} {}/{}: expected {}, got {}", key, name(a), name(p), expected.dump(), table[a][p]);
  }

  const tuning::TuningModel& model_;
  const json& expected_;
  std::string text_;
};

void checkDirectory(const fs::path& directory) {
  int equal = 0, different = 0, skipped = 0;
  for (const fs::path& file : plansBelow(directory)) {
    const auto job = readJob(file);
    if (!job) {
      ++skipped;
      continue;
    }
    const tuning::TuningModel model =
        tuning::computeTuning(job->input, tuning::TuningOptions::from(job->settings));
    const std::string differences = Comparison(model, job->plan["tuning"]).differences();
    differences.empty() ? ++equal : ++different;
    EXPECT_EQ(differences, "") << file.filename().string();
  }
  EXPECT_GT(equal, 0) << directory << " holds no golden plan with a tuning";
  std::printf("%s: tuning of %d plans equal, %d different; %d without one\n", directory.c_str(), equal,
              different, skipped);
}

// Returns the lines from the table of latencies and bandwidths to the thresholds.
std::vector<std::string> tuningPart(const std::vector<std::string>& log) {
  std::vector<std::string> part;
  bool tuning = false;
  for (const std::string& line : log) {
    tuning = tuning || line.starts_with("  Algorithm   |");
    if (tuning) part.push_back(line);
    if (line.starts_with("threadThresholds")) tuning = false;
  }
  return part;
}

// Compares our log lines of a job with those of NCCL's log.
void checkLogs(const fs::path& directory) {
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(directory / "logs")) {
    if (entry.path().extension() != ".log") continue;
    const fs::path plan = directory / "own" / (entry.path().stem().string() + ".json");
    if (!fs::exists(plan)) continue;
    const auto job = readJob(plan);
    if (!job) continue;
    std::vector<std::string> logged, ours;
    std::ifstream log(entry.path());
    for (std::string line; std::getline(log, line);) logged.push_back(line);
    for (const LogLine& line :
         tuning::tuningLines(tuning::computeTuning(job->input, tuning::TuningOptions::from(job->settings))))
      ours.push_back(line.text);
    const std::vector<std::string> expected = tuningPart(logged), actual = tuningPart(ours);
    EXPECT_EQ(actual, expected.empty() || job->input.ranks > 1 ? expected : std::vector<std::string>())
        << entry.path().filename().string();
    ++compared;
  }
  EXPECT_GT(compared, 0) << directory << " holds no log";
  std::printf("%s: tuning lines of %d logs compared\n", directory.c_str(), compared);
}

TEST(GoldenTuning, Zoo) { checkDirectory(repositoryGoldens() / "nccl"); }

TEST(GoldenTuning, MixedJobsOfTheZoo) { checkDirectory(repositoryGoldens() / "mixed"); }

TEST(GoldenTuning, ExtraDirectory) {
  const char* directory = std::getenv("XYLEM_TEST_GOLDEN");
  if (directory == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory of further golden plans";
  checkDirectory(directory);
}

TEST(GoldenTuning, ExtraDirectoryLogs) {
  const char* directory = std::getenv("XYLEM_TEST_GOLDEN");
  if (directory == nullptr || !fs::exists(fs::path(directory) / "logs"))
    GTEST_SKIP() << "XYLEM_TEST_GOLDEN names no directory with logs";
  checkLogs(directory);
}

}  // namespace
}  // namespace xylem::golden
