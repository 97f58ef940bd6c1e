// xylem versions: the versions of NCCL whose rules the planner knows, and what each decides differently.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/table.h"
#include "cli/version_input.h"

namespace xylem::cli {
namespace {

struct VersionsArguments {
  std::string nccl;
  bool json = false;
};

constexpr const char* kVersionsExamples = R"(Examples:
  xylem versions                  every version, and what it decides differently from the one before
  xylem versions --nccl 2.27.7    the changes of that version alone
  xylem versions --json | jq '.versions[] | {version, changes: [.changes[].name]}'

A change's name begins with the version that brings it. `back` is the variable that restores the old rule.)";

std::vector<rules::Version> wanted(const std::string& nccl) {
  if (nccl.empty()) return {rules::kKnownVersions.begin(), rules::kKnownVersions.end()};
  return {rulesNamed(nccl, Settings())->version};
}

nlohmann::ordered_json toJson(const std::vector<rules::Version>& versions) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const rules::Version& version : versions) {
    nlohmann::ordered_json changes = nlohmann::ordered_json::array();
    for (const rules::Change* change : rules::changesOf(version))
      changes.push_back({{"name", change->name},
                         {"since", rules::versionText(change->since)},
                         {"summary", change->summary},
                         {"touches", change->touches},
                         {"back", change->back},
                         {"concerns", rules::name(change->concerns)}});
    list.push_back({{"version", rules::versionText(version)}, {"changes", std::move(changes)}});
  }
  return {{"format", "xylem-versions-1"}, {"versions", std::move(list)}};
}

const char* headingOf(rules::Concerns concerns) {
  switch (concerns) {
    case rules::Concerns::kPlans:
      return "plans:";
    case rules::Concerns::kDetection:
      return "how a machine is described, and which descriptions are read:";
    case rules::Concerns::kTexts:
      return "log lines and files:";
    case rules::Concerns::kExecution:
      return "beyond Xylem's plans (kernels, registered memory, groups, plugins, failures):";
  }
  return "";
}

std::string text(const std::vector<rules::Version>& versions, const Terminal& screen) {
  std::string text;
  for (const rules::Version& version : versions) {
    if (!text.empty()) text += '\n';
    text += screen.paint(Style::kBold, "NCCL " + rules::versionText(version)) + '\n';
    const auto changes = rules::changesOf(version);
    if (changes.empty()) text += "  the rules that the others are compared with\n";
    for (const rules::Concerns concerns : {rules::Concerns::kPlans, rules::Concerns::kDetection,
                                           rules::Concerns::kTexts, rules::Concerns::kExecution}) {
      Table table({{"change"}, {"touches"}, {"back"}, {"what is different"}});
      for (const rules::Change* change : changes)
        if (change->concerns == concerns)
          table.add({{change->name, Style::kBold}, {change->touches}, {change->back}, {change->summary}});
      if (!table.empty()) text += fmt::format("  {}\n{}", headingOf(concerns), table.text(screen, 2));
    }
  }
  return text;
}

int runVersions(const VersionsArguments& options) {
  const auto versions = wanted(options.nccl);
  if (options.json)
    writeJson(toJson(versions), 2);
  else
    writeOut(text(versions, terminalOf(stdout)));
  return kOk;
}

}  // namespace

void addVersions(CommandLine& line) {
  const auto options = std::make_shared<VersionsArguments>();
  Command command = line.add("versions", "list NCCL's versions and what each decides differently");
  command.option("--nccl", options->nccl, "one version alone").value("VERSION");
  command.flag("--json", options->json, "print JSON");
  command.footer(kVersionsExamples);
  command.action([options] { return runVersions(*options); });
}

}  // namespace xylem::cli
