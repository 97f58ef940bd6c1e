// xylem upgrade: which machines an upgrade of NCCL plans differently, and by which of NCCL's changes.
#include "insight/upgrade/upgrade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/version_input.h"
#include "core/error.h"

namespace xylem::cli {
namespace {

namespace fs = std::filesystem;

struct UpgradeArguments {
  std::vector<std::string> files;
  std::string from, to;
  JobInput job;  // of each file
  bool json = false;
};

struct MachineUpgrade {
  std::string name;
  std::vector<std::string> assumptions;
  upgrade::Upgrade upgrade;
};

constexpr const char* kUpgradeExamples = R"(Examples:
  xylem upgrade dgxh100.xml --from 2.25.1 --to 2.27.7   what the upgrade changes for two such hosts
  xylem upgrade topologies/ --from 2.27.7 --to 2.30.7   a folder: one line per machine
  xylem upgrade gb200x4 --from 2.26.2 --to 2.28.9 --nodes 16

A time is that of an AllReduce as NCCL predicts it: of 8 KiB, 1 MiB and 1 GiB, after the upgrade relative to before. The causes
are the fewest of NCCL's changes that lead to the new plan (xylem versions lists them). Exit status: 0 no plan differs, 1 some
do, 2 an argument or a file cannot be used (of several files, the others are answered for).)";

// The topology files of folders, and all others as they are named.
std::vector<std::string> machinesOf(const std::vector<std::string>& files) {
  std::vector<std::string> machines;
  for (const std::string& file : files) {
    if (isThisMachine(file) || !fs::is_directory(file)) {
      machines.push_back(file);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::directory_iterator(file))
      if (entry.path().extension() == ".xml") inside.push_back(entry.path().string());
    if (inside.empty())
      throw InputError({file, 0}, "a folder without topology files", "files NAME.xml in it");
    std::sort(inside.begin(), inside.end());
    machines.insert(machines.end(), inside.begin(), inside.end());
  }
  return machines;
}

MachineUpgrade upgradeOf(const std::string& file, const UpgradeArguments& options, const Settings& settings,
                         const rules::Version& from, const rules::Version& to) {
  JobInput job = options.job;
  job.file = file;
  JobRequest request = readJob(job, settings);
  const std::string name = isThisMachine(file) ? machineName(file) : fs::path(file).filename().string();
  return {name, std::move(request.assumptions),
          upgrade::upgradeOf(request.plan, settings, from, to, options.json)};
}

std::string changeText(const upgrade::SizeTimes& times) {
  if (times.before <= 0 || times.after <= 0) return "-";
  const double percent = (times.after / times.before - 1) * 100;
  return std::fabs(percent) < 0.05 ? "0 %" : fmt::format("{:+.1f} %", percent);
}

std::vector<std::string> namesOf(const std::vector<const rules::Change*>& changes) {
  std::vector<std::string> names;
  for (const rules::Change* change : changes) names.emplace_back(change->name);
  return names;
}

nlohmann::ordered_json toJson(const MachineUpgrade& machine) {
  const upgrade::Upgrade& u = machine.upgrade;
  nlohmann::ordered_json causes = nlohmann::ordered_json::array();
  for (const rules::Change* change : u.causes)
    causes.push_back({{"name", change->name}, {"summary", change->summary}, {"back", change->back}});
  nlohmann::ordered_json times = nlohmann::ordered_json::array();
  for (const upgrade::SizeTimes& t : u.times)
    times.push_back({{"bytes", t.bytes}, {"before", t.before}, {"after", t.after}});
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  nlohmann::ordered_json causesOfParts = nlohmann::ordered_json::object();
  for (const upgrade::PartCauses& part : u.parts) {
    parts.push_back(part.part);
    causesOfParts[part.part] = namesOf(part.causes);
  }
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const rules::Version& version : u.steps) steps.push_back(rules::versionText(version));
  nlohmann::ordered_json json = {{"machine", machine.name},
                                 {"assumptions", machine.assumptions},
                                 {"differs", u.differs},
                                 {"changedIn", steps},
                                 {"parts", parts},
                                 {"causes", causes},
                                 {"causesOfParts", causesOfParts},
                                 {"allReduce", times}};
  if (!u.errorBefore.empty()) json["errorBefore"] = u.errorBefore;
  if (!u.errorAfter.empty()) json["errorAfter"] = u.errorAfter;
  return json;
}

std::string causesText(const upgrade::Upgrade& u) {
  if (!u.errorAfter.empty()) return "fails from then on: " + u.errorAfter;
  if (!u.errorBefore.empty()) return "failed before: " + u.errorBefore;
  return fmt::format("{}", fmt::join(namesOf(u.causes), ", "));
}

std::string partsText(const upgrade::Upgrade& u) {
  std::string text;
  for (const upgrade::PartCauses& part : u.parts) text += (text.empty() ? "" : ", ") + part.part;
  return text;
}

// The changes behind each part of the plan, where there are several. Parts with the same causes share a row.
std::string byPart(const upgrade::Upgrade& u, const Terminal& screen) {
  if (u.causes.size() < 2 || u.parts.size() < 2) return "";
  std::vector<std::pair<std::string, std::vector<const rules::Change*>>> rows;
  for (const upgrade::PartCauses& part : u.parts) {
    const auto same =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.second == part.causes; });
    if (same == rows.end())
      rows.emplace_back(part.part, part.causes);
    else
      same->first += ", " + part.part;
  }
  Table table({{"what differs"}, {"by"}});
  for (const auto& [parts, causes] : rows)
    table.add({{parts, Style::kBold}, {fmt::format("{}", fmt::join(namesOf(causes), ", "))}});
  return '\n' + table.text(screen);
}

std::string text(const std::vector<MachineUpgrade>& machines, const rules::Version& from,
                 const rules::Version& to, const Terminal& screen) {
  Table table({{"machine"},
               {"8 KiB", Align::kRight},
               {"1 MiB", Align::kRight},
               {"1 GiB", Align::kRight},
               {"what differs"},
               {"by"}});
  std::vector<const rules::Change*> causes;
  std::vector<std::string> assumptions;
  std::size_t same = 0;
  for (const MachineUpgrade& machine : machines) {
    const upgrade::Upgrade& u = machine.upgrade;
    for (const std::string& assumption : machine.assumptions)
      if (std::find(assumptions.begin(), assumptions.end(), assumption) == assumptions.end())
        assumptions.push_back(assumption);
    if (!u.differs) {
      ++same;
      continue;
    }
    std::vector<Cell> row = {{machine.name, Style::kBold}};
    for (std::size_t i = 0; i < 3; ++i) row.push_back({i < u.times.size() ? changeText(u.times[i]) : "-"});
    row.push_back({partsText(u)});
    row.push_back({causesText(u)});
    table.add(std::move(row));
    for (const rules::Change* change : u.causes)
      if (std::find(causes.begin(), causes.end(), change) == causes.end()) causes.push_back(change);
  }
  std::string text = fmt::format("NCCL {} -> {}\n", rules::versionText(from), rules::versionText(to)) +
                     assumedText(assumptions, screen);
  if (same < machines.size()) text += table.text(screen);
  if (same > 0)
    text += fmt::format("{}{} planned as before\n", same < machines.size() ? "\n" : "",
                        counted(static_cast<int>(same), "machine"));
  if (machines.size() == 1) text += byPart(machines.front().upgrade, screen);
  if (causes.empty()) return text;
  std::sort(causes.begin(), causes.end());
  Table meaning({{"change"}, {"back"}, {"what is decided differently"}});
  for (const rules::Change* change : causes)
    meaning.add(
        {{change->name, Style::kBold}, {*change->back == '\0' ? "-" : change->back}, {change->summary}});
  return text + '\n' + meaning.text(screen);
}

int runUpgrade(const UpgradeArguments& options) {
  const Settings settings = readSettings();
  const rules::Version from = rulesNamed(options.from, settings, "--from")->version;
  const rules::Version to = rulesNamed(options.to, settings, "--to")->version;
  if (rules::changesBetween(from, to).empty())
    throw InputError({"--to", 0}, rules::versionText(to), "a newer version than " + rules::versionText(from));
  const std::vector<std::string> files = machinesOf(options.files);
  std::vector<MachineUpgrade> machines;
  std::vector<std::string> leftOut;
  for (const std::string& file : files) {
    try {
      const Progress progress(fmt::format("planning {}", machineName(file)));
      machines.push_back(upgradeOf(file, options, settings, from, to));
    } catch (const InputError& error) {
      // One file of many does not keep the others from an answer.
      leftOut.emplace_back(error.what());
      if (leftOut.size() == files.size()) throw;
      warn("left out: " + leftOut.back());
    }
  }
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const MachineUpgrade& machine : machines) list.push_back(toJson(machine));
    writeJson({{"format", "xylem-upgrade-1"},
               {"from", rules::versionText(from)},
               {"to", rules::versionText(to)},
               {"machines", list},
               {"leftOut", leftOut}},
              2);
  } else {
    writeOut(text(machines, from, to, terminalOf(stdout)));
  }
  if (!leftOut.empty()) return kBadInput;
  const bool differs = std::any_of(machines.begin(), machines.end(),
                                   [](const MachineUpgrade& machine) { return machine.upgrade.differs; });
  return differs ? kFailed : kOk;
}

}  // namespace

void addUpgrade(CommandLine& line) {
  const auto options = std::make_shared<UpgradeArguments>();
  Command command = line.add("upgrade", "what an upgrade of NCCL changes, and by which of its changes");
  command.option("FILE", options->files, "topology XML, folders of such files, or - for this machine")
      .repeats()
      .required();
  command.option("--from", options->from, "the version that is in use").value("VERSION").required();
  command.option("--to", options->to, "the version to upgrade to").value("VERSION").required();
  command
      .option("-n,--nodes", options->job.nodes,
              "number of identical hosts (default 2 for files with NICs, else 1)")
      .value("N")
      .within(1, 1 << 20);
  addOfferOptions(command, options->job);
  command.flag("--json", options->json, "print JSON");
  command.footer(kUpgradeExamples);
  command.action([options] { return runUpgrade(*options); });
}

}  // namespace xylem::cli
