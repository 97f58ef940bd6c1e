#include "planner/plan/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "planner/paths/path_table.h"
#include "planner/rules/changes.h"
#include "planner/rules/patches.h"
#include "planner/rules/variables.h"
#include "planner/search/channel_search.h"
#include "planner/topology/attributes.h"
#include "planner/topology/complete.h"
#include "planner/topology/link_override.h"
#include "planner/topology/select_nets.h"

namespace xylem::plan {
namespace {

constexpr const char* kMulticast = "NVLS, as drivers offer it on a machine with an NVSwitch";
constexpr int kMulticastSm = 90;

// True if the GPUs and the NVSwitch of the machine can multicast.
bool mayMulticast(const topology::Document& asWritten) {
  const topology::Document document = topology::completeAttributes(asWritten);
  bool multicasts = false;
  bool hasSwitch = false;
  for (std::size_t i = 0; i < document.size(); ++i) {
    const auto element = static_cast<topology::ElementId>(i);
    const std::string* target = document.attribute(element, "tclass");
    if (document[element].name == "nvlink" && target != nullptr)
      hasSwitch = hasSwitch || topology::pciClass(*target) == topology::PciClass::kNvs;
    if (document[element].name == "gpu")
      multicasts =
          multicasts || topology::Attributes(document, element).integer("sm", 0, 10000, 0) >= kMulticastSm;
  }
  return multicasts && hasSwitch;
}

bool variableDecidesNvls(const Settings& settings) {
  return search::graphOptions({.nvls = true}, settings).nvls ==
         search::graphOptions({.nvls = false}, settings).nvls;
}

}  // namespace

std::vector<std::string> unknownTo(const rules::Version& version, const Settings& settings) {
  std::vector<std::string> lines;
  const auto add = [&](const char* name, const std::string& origin) {
    if (!rules::knows(version, name))
      lines.push_back(fmt::format("{} ({}) is no variable of NCCL {}: it exists {}", name, origin,
                                  rules::versionText(version), rules::lifeText(name)));
  };
  const auto rules = rules::rulesOf(version);
  for (const SettingSpec& spec : settingSpecs()) {
    if (!settings.isSet(spec.id)) continue;
    add(spec.name, settings.origin(spec.id));
    if (spec.kind == SettingKind::kLevel && !paths::parseLevel(settings.text(spec.id), *rules))
      lines.push_back(fmt::format("{}={} ({}): NCCL {} knows no such level, and ignores it", spec.name,
                                  settings.text(spec.id), settings.origin(spec.id),
                                  rules::versionText(version)));
  }
  for (const Settings::Unread& other : settings.unread()) add(other.variable->name, other.origin);
  return lines;
}

std::vector<std::string> versionWarnings(const rules::Version& version, const Settings& settings) {
  std::vector<std::string> lines;
  const auto rules = rules::rulesOf(version);
  if (!rules::isRelease(*rules, version)) {
    const std::string_view difference = rules::differenceFromKnown(version);
    lines.push_back(fmt::format("NCCL {} is planned by the rules of {}{}", rules::versionText(version),
                                rules::versionText(rules->version),
                                difference.empty() ? ", the nearest version that Xylem knows"
                                                   : fmt::format(". Known of it: {}", difference)));
  }
  for (std::string& line : unknownTo(version, settings)) lines.push_back(std::move(line));
  return lines;
}

topology::Document nicsInUse(topology::Document document, const Settings& settings, Remarks& remarks) {
  return topology::selectNets(std::move(document), settings, &remarks.assumptions, &remarks.warnings);
}

void remarkOverrides(const topology::Document& document, const std::shared_ptr<const rules::RuleSet>& rules,
                     Remarks& remarks) {
  for (const std::string& text : topology::overrideTexts(document, rules))
    remarks.assumptions.push_back("an override, " + text);
}

void addOffers(PlanRequest& request, const Offers& offers, const Settings& settings, Remarks& remarks) {
  request.offered = {offers.nvls.value_or(false), offers.collnet};
  if (offers.nvls || variableDecidesNvls(settings)) return;
  std::set<const topology::Document*> asked;  // hosts of one file share a document
  const auto multicasts = [&](const HostRequest& host) {
    return asked.insert(host.topology.get()).second && mayMulticast(*host.topology);
  };
  if (std::none_of(request.hosts.begin(), request.hosts.end(), multicasts)) return;
  request.offered.nvls = true;
  remarks.assumptions.emplace_back(kMulticast);
}

void addGraphFile(PlanRequest& request, const Settings& settings, Remarks& remarks) {
  request.graphFile = search::graphFileOf(settings, &remarks.warnings);
  if (request.graphFile != nullptr)
    remarks.assumptions.push_back(fmt::format("the channels of {}, as NCCL_GRAPH_FILE ({}) says",
                                              settings.text(Setting::kGraphFile),
                                              settings.origin(Setting::kGraphFile)));
}

}  // namespace xylem::plan
