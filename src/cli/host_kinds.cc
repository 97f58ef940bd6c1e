#include "cli/host_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace xylem::cli {
namespace {

std::string baseName(const HostGroup& group) {
  std::filesystem::path file = group.topology;
  file = file.filename();
  if (file.extension() == ".xml") file = file.stem();
  std::string text = file.empty() || file == "-" ? "this machine" : file.string();
  if (!group.gpus.empty()) text += fmt::format("@{}", fmt::join(group.gpus, ","));
  return text;
}

void nameShape(std::vector<HostKind>& kinds, const HostShape& shape, const std::string& base) {
  const std::set<int> views(shape.viewOfLocal.begin(), shape.viewOfLocal.end());
  int part = 0;
  for (int view : views) {
    ++part;
    kinds[static_cast<std::size_t>(view)].name =
        views.size() == 1 ? base : fmt::format("part {} of {}", part, base);
  }
}

// Files of the same name in different folders.
void tellApart(std::vector<HostKind>& kinds) {
  std::map<std::string, int> uses;
  for (const HostKind& kind : kinds) ++uses[kind.name];
  std::map<std::string, int> seen;
  for (HostKind& kind : kinds)
    if (uses[kind.name] > 1) kind.name += fmt::format(" ({})", ++seen[kind.name]);
}

}  // namespace

std::vector<HostKind> hostKinds(const Plan& plan) {
  const Job& job = plan.job();
  std::vector<HostKind> kinds(plan.hostPlans.size());
  // Backwards, so that of equal descriptions the first group's name stays.
  for (auto group = plan.groups.rbegin(); group != plan.groups.rend(); ++group)
    nameShape(kinds, job.shapeOf(group->firstHost), baseName(*group));
  tellApart(kinds);
  for (int rank = 0; rank < job.ranks(); ++rank)
    kinds[static_cast<std::size_t>(job.viewOf(rank))].ranks.push_back(rank);
  for (int host = 0; host < job.hosts(); ++host) {
    const std::vector<int>& views = job.shapeOf(host).viewOfLocal;
    for (int view : std::set<int>(views.begin(), views.end()))
      kinds[static_cast<std::size_t>(view)].hosts.push_back(host);
  }
  return kinds;
}

std::string smText(const HostPlan& host) {
  const System& system = host.system();
  std::set<int> sms;
  for (NodeId gpu : system.nodes(NodeType::kGpu)) sms.insert(system.gpu(gpu).sm);
  return fmt::format("sm {}", fmt::join(sms, " and "));
}

}  // namespace xylem::cli
