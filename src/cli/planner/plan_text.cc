#include "cli/planner/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/host_kinds.h"
#include "cli/machine_words.h"
#include "cli/number_list.h"
#include "cli/plan_host_text.h"
#include "cli/planner/plan_job_text.h"
#include "cli/table.h"
#include "insight/preflight/preflight.h"

namespace xylem::cli {
namespace {

// Of kinds of hosts that are shown; of ranges of numbers of hosts and ranks.
constexpr std::size_t kMostKinds = 8;
constexpr std::size_t kMostRanges = 4;

std::string jobSizeText(const Plan& plan, const std::string& machine, const Terminal& screen) {
  const Job& job = plan.job();
  std::string text =
      fmt::format("{} on {} of {}", screen.paint(Style::kBold, counted(job.ranks(), "rank")),
                  counted(job.hosts(), "host"),
                  job.shapes.size() > 1 ? counted(static_cast<int>(job.shapes.size()), "kind") : machine);
  if (plan.hostPlans.size() == 1) text += ": " + inventory(plan.hostOf(0).system());
  text += '\n';
  if (plan.connections.nodes.count() != job.hosts())
    text += fmt::format("NCCL counts {}: not all GPUs of a host reach each other without the network\n",
                        counted(plan.connections.nodes.count(), "node"));
  return text;
}

std::string gpusOfJob(const Plan& plan) {
  const Connections& c = plan.connections;
  std::string text = c.lowestSm == c.highestSm
                         ? fmt::format("compute capability {}", c.lowestSm)
                         : fmt::format("compute capabilities {} to {}", c.lowestSm, c.highestSm);
  if (c.job.shapeOf(0).ranks() > 1)
    text += plan.allNvlink ? ", GPUs of a host all joined by NVLink"
                           : ", GPUs of a host not all joined by NVLink";
  return text + '\n';
}

// Machines of today with this hardware offer multicast, but a topology file does not say so.
bool mayHaveNvls(const Plan& plan) {
  constexpr int kMulticastSm = 90;
  const auto& hosts = plan.hostPlans;
  return !plan.offered.nvls && plan.connections.lowestSm >= kMulticastSm &&
         std::all_of(hosts.begin(), hosts.end(), [](const auto& host) { return host->system().hasNvs(); });
}

// As rank 0 counts.
std::string channelsText(const Plan& plan) {
  const Connections& c = plan.connections;
  const ViewDecisions& mine = c.of(0);
  std::string text = fmt::format("channels{}: {}; collectives use {}", c.views.size() > 1 ? " of rank 0" : "",
                                 c.nChannels(), mine.channels.collective);
  if (c.nvlsHeads > 0)
    text += fmt::format(", NVLS {} through {}", mine.nvlsChannels, counted(c.nvlsHeads, "head"));
  text += fmt::format(", send/receive {}, {} per peer\n", mine.p2pChannels, mine.p2pChannelsPerPeer);
  if (c.collnet)
    text += fmt::format("CollNet: the network reduces, {}\n", counted(mine.collnetHeads, "head"));
  if (mayHaveNvls(plan))
    text += "NVLS: not considered; --nvls plans for a driver that offers NVLink multicast\n";
  if (plan.offered.nvls && c.nvlsHeads == 0) text += "NVLS: offered, but this job has no channels for it\n";
  return text;
}

std::string agreementText(const Plan& plan, const Terminal& screen) {
  if (plan.hostPlans.size() < 2) return "";
  const Preflight result = preflight(plan);
  if (result.isFine()) return "agreement: all ranks decide alike\n";
  return fmt::format(
      "agreement: {} (`xylem preflight` says where, why and what avoids it)\n",
      screen.paint(Style::kRed, result.disagrees()
                                    ? "ranks of different hosts would decide differently and hang"
                                    : "hosts without a usable NIC"));
}

std::string kindsText(const Plan& plan, const std::vector<HostKind>& kinds, const Terminal& screen) {
  Table table({{"kind"}, {"hosts"}, {"ranks"}, {"a host has"}});
  for (std::size_t view = 0; view < kinds.size() && view < kMostKinds; ++view)
    table.add(
        {{kinds[view].name, Style::kBold},
         {listText(kinds[view].hosts, kMostRanges)},
         {listText(kinds[view].ranks, kMostRanges)},
         {fmt::format("{}, {}", smText(*plan.hostPlans[view]), inventory(plan.hostPlans[view]->system()))}});
  std::string text = '\n' + screen.paint(Style::kBold, "Kinds of hosts") + '\n' + table.text(screen, 2);
  if (kinds.size() > kMostKinds)
    text += fmt::format("  and {} more, which --json has\n", kinds.size() - kMostKinds);
  return text;
}

}  // namespace

std::string planText(const Plan& plan, const std::string& machine, const Terminal& screen) {
  std::string text = jobSizeText(plan, machine, screen) + gpusOfJob(plan) + channelsText(plan);
  text += agreementText(plan, screen);
  for (const auto& [name, value] : plan.settings) text += fmt::format("set: {}={}\n", name, value);
  if (plan.hostPlans.size() == 1) {
    text += hostText(plan, *plan.hostPlans.front(), "a host", screen);
  } else {
    const std::vector<HostKind> kinds = hostKinds(plan);
    text += kindsText(plan, kinds, screen);
    for (std::size_t view = 0; view < kinds.size() && view < kMostKinds; ++view)
      text += hostText(plan, *plan.hostPlans[view], kinds[view].name, screen);
  }
  return text + ringsText(plan, screen) + treesText(plan, screen) + choicesText(plan, screen);
}

}  // namespace xylem::cli
