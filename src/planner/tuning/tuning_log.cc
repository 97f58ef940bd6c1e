#include "planner/tuning/tuning_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "planner/tuning/measured.h"

namespace xylem::tuning {
namespace {

constexpr std::size_t kAlgorithmsPerBlock = 3;

class Lines {
 public:
  explicit Lines(const TuningModel& model) : model_(model) {}

  void addBlock(std::span<const Algorithm> algorithms) {
    std::string text = "  Algorithm   |";
    for (const Algorithm a : algorithms) text += fmt::format(" {:>14}   {:>14}   {:>14} |", "", name(a), "");
    add(std::move(text));
    // NCCL gives every block the heading of a full one.
    text = "  Protocol    |";
    for (std::size_t i = 0; i < kAlgorithmsPerBlock; ++i)
      for (const Protocol p : kAllProtocols) text += fmt::format(" {:>14} |", name(p));
    add(std::move(text));
    text = " Max NThreads |";
    for (const Algorithm a : algorithms)
      for (const Protocol p : kAllProtocols) text += fmt::format(" {:>14} |", model_.maxThreads[a][p]);
    add(std::move(text));
    for (const Collective c : kAllCollectives) {
      text = fmt::format("{:>13} |", name(c));
      for (const Algorithm a : algorithms)
        for (const Protocol p : kAllProtocols)
          text += fmt::format("{:8.1f}/{:6.1f} |", model_.latency[c][a][p], model_.bandwidth[c][a][p]);
      add(std::move(text));
    }
  }

  // With NCCL_LL128_C2C=0 NCCL says so each time that it asks whether LL128 suits a function and an algorithm.
  void addLl128WithinPxb() {
    if (model_.input.rules->ll128OverPxn || model_.input.lowestSm < measured::kHopperSm) return;
    for (const Collective c : kAllCollectives)
      for (std::size_t i = 0; i < std::size(kAllAlgorithms); ++i)
        if (model_.options.protocols[c][Protocol::kLl128] == Enabled::kDecide)
          add("Disabling LL128 over all PxN connections (PXB and C2C). This ensures that no C2C link will be "
              "used by "
              "LL128.",
              Subsystem::kGraph);
  }

  void addThresholds() {
    const auto& thresholds = model_.threadThreshold;
    const auto all = [&](Algorithm a) {
      return fmt::format("{}/{}/{}", thresholds[a][Protocol::kLl], thresholds[a][Protocol::kLl128],
                         thresholds[a][Protocol::kSimple]);
    };
    add(fmt::format("threadThresholds {} | {} | {} | {}", all(Algorithm::kTree), all(Algorithm::kRing),
                    thresholds[Algorithm::kCollnetDirect][Protocol::kSimple],
                    thresholds[Algorithm::kCollnetChain][Protocol::kSimple]),
        Subsystem::kInit);
  }

  // The matrix of what the user's lists allow, before any other reason excludes it.
  void addEnabled() {
    const TuningOptions& options = model_.options;
    const auto echo = [&](const char* variable, const std::string& list) {
      if (!list.empty()) add(fmt::format("{} set by environment to {}", variable, list), Subsystem::kEnv);
    };
    echo("NCCL_PROTO", options.protocolList);
    echo("NCCL_ALGO", options.algorithmList);
    std::string text = "Enabled NCCL Func/Proto/Algo Matrix:\n     Function | ";
    for (const Protocol p : kAllProtocols) text += fmt::format("{:>8}  ", name(p));
    text += " | ";
    for (const Algorithm a : kAllAlgorithms) text += fmt::format("{:>13}  ", name(a));
    text += '\n';
    for (const Collective c : kAllCollectives) {
      text += fmt::format("{:>13} | ", name(c));
      for (const Protocol p : kAllProtocols)
        text += fmt::format("{:>8}  ", static_cast<int>(options.protocols[c][p]));
      text += " | ";
      for (const Algorithm a : kAllAlgorithms)
        text += fmt::format("{:>13}  ", options.algorithms[c][a] ? 1 : 0);
      text += '\n';
    }
    add(std::move(text), Subsystem::kEnv);
  }

  std::vector<LogLine> take() { return std::move(lines_); }

 private:
  void add(std::string text, Subsystem subsystem = Subsystem::kTuning) {
    LogLine& line = lines_.emplace_back();
    line.level = LogLevel::kInfo;
    line.subsystem = subsystem;
    line.text = std::move(text);
  }

  const TuningModel& model_;
  std::vector<LogLine> lines_;
};

}  // namespace

std::vector<LogLine> tuningLines(const TuningModel& model) {
  if (model.input.ranks <= 1) return {};
  Lines lines(model);
  if (!model.options.algorithmList.empty() || !model.options.protocolList.empty()) lines.addEnabled();
  lines.addLl128WithinPxb();
  const std::span<const Algorithm> all(kAllAlgorithms);
  for (std::size_t first = 0; first < all.size(); first += kAlgorithmsPerBlock)
    lines.addBlock(all.subspan(first, std::min(kAlgorithmsPerBlock, all.size() - first)));
  lines.addThresholds();
  return lines.take();
}

}  // namespace xylem::tuning
