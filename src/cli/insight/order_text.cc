#include "cli/insight/order_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/machine_words.h"
#include "cli/table.h"

namespace xylem::cli {
namespace {

constexpr std::size_t kMostCrossings = 3;
constexpr std::size_t kMostHosts = 64;      // in the list
constexpr std::size_t kMostNow = 8;         // in the first line
constexpr std::size_t kMostFileLines = 16;  // of the hostfile
constexpr double kMillisPerSecond = 1e3;
// An oversubscription from here on is a whole number.
constexpr double kWholeFrom = 10;
// From here on a slowdown is red.
constexpr double kSlow = 1.005;

std::string overText(double over) {
  if (over <= 0) return "";
  if (std::isinf(over)) return "; a leaf without a cable to others";
  return over < kWholeFrom ? fmt::format("; leaves oversubscribed up to {:.2g}:1", over)
                           : fmt::format("; leaves oversubscribed up to {:.0f}:1", over);
}

std::string headText(const OrderReport& report) {
  const Job& job = report.plan.job();
  const std::size_t switches = report.fabric.switches.size();
  std::int64_t cables = 0;
  for (const FabricLink& link : report.fabric.links) cables += link.cables;
  const std::vector<std::string> names = namesInOrder(report.order, report.order.now);
  const std::size_t shown = std::min(names.size(), kMostNow);
  return fmt::format("{} on {} of {}: {}{}\n{}: {}, {} between them{}\n", counted(job.ranks(), "rank"),
                     counted(job.hosts(), "host"), report.jobName,
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ","),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "",
                     report.fabric.file, switches == 1 ? "1 switch" : fmt::format("{} switches", switches),
                     cables == 1 ? "1 cable" : fmt::format("{} cables", cables),
                     overText(oversubscription(report.fabric)));
}

Cell slowdownCell(double slowdown) {
  return {fmt::format("{:.2f}", slowdown), slowdown > kSlow ? Style::kRed : Style::kGreen};
}

std::string tableText(const OrderReport& report, const Terminal& screen) {
  const HostOrder& order = report.order;
  std::vector<Column> columns = {{"AllReduce"}};
  std::vector<const TrafficScore*> scores;
  for (int kind = 0; kind < kTrafficKinds; ++kind) {
    columns.push_back({fmt::format("{}, now", trafficName(kind)), Align::kRight});
    scores.push_back(&order.now.score[static_cast<std::size_t>(kind)]);
    if (!order.isBetter()) continue;
    columns.push_back({"proposed", Align::kRight});
    scores.push_back(&order.proposed.score[static_cast<std::size_t>(kind)]);
  }
  Table table(columns);
  const auto add = [&](const std::string& what, const auto& cell) {
    std::vector<Cell> row = {{what}};
    for (const TrafficScore* score : scores) row.push_back(cell(*score));
    table.add(std::move(row));
  };
  add("times as long as without congestion",
      [](const TrafficScore& score) { return slowdownCell(score.slowdown); });
  add("ms per GB",
      [](const TrafficScore& score) { return Cell{fmt::format("{:.2f}", score.time * kMillisPerSecond)}; });
  add("ms per GB without congestion",
      [](const TrafficScore& score) { return Cell{fmt::format("{:.2f}", score.quiet * kMillisPerSecond)}; });
  const auto bytes = [&](const std::string& what, double TrafficScore::*member) {
    add(what, [member](const TrafficScore& score) { return Cell{fmt::format("{:.3f}", score.*member)}; });
  };
  bytes("bytes per byte: busiest cable", &TrafficScore::most);
  bytes("  90 % of the cables at most", &TrafficScore::ninetieth);
  bytes("  half of the cables at most", &TrafficScore::median);
  bytes("  all cables together", &TrafficScore::all);
  add("cables that slow it down",
      [](const TrafficScore& score) { return Cell{fmt::format("{} of {}", score.slowing, score.cables)}; });
  return '\n' + table.text(screen) + "Between switches; a cable counts once in each direction.\n";
}

std::string crossingsText(const OrderReport& report, const OrderedHosts& hosts, const BusyLink& busy) {
  const auto nameAt = [&](int place) {
    return report.order.sites->name(hosts.order[static_cast<std::size_t>(place)]);
  };
  std::string text;
  for (std::size_t i = 0; i < busy.crossings.size() && i < kMostCrossings; ++i)
    text += fmt::format("{}{} > {}", i == 0 ? "" : ", ", nameAt(busy.crossings[i].from),
                        nameAt(busy.crossings[i].to));
  if (busy.crossings.size() > kMostCrossings)
    text += fmt::format(" and {} more", busy.crossings.size() - kMostCrossings);
  return text;
}

std::string linksText(const OrderReport& report, const OrderedHosts& hosts, int kind, const std::string& when,
                      const Terminal& screen) {
  Table table({{"from"},
               {"to"},
               {"cables", Align::kRight},
               {"GB/s each", Align::kRight},
               {"bytes each", Align::kRight},
               {"times as long", Align::kRight},
               {"hosts"}});
  for (const BusyLink& busy : busyLinks(report, hosts, kind))
    table.add({{busy.link->from},
               {busy.link->to},
               {std::to_string(busy.link->cables)},
               {fmt::format("{:.1f}", busy.link->bandwidth)},
               {fmt::format("{:.3f}", busy.bytes)},
               slowdownCell(busy.slowdown),
               {crossingsText(report, hosts, busy)}});
  if (table.empty()) return "";
  return screen.heading(
             fmt::format("Busiest links of the {}s, {}", kind == kRingTraffic ? "ring" : "tree", when)) +
         table.text(screen, 2);
}

std::string orderListText(const OrderReport& report, const Terminal& screen) {
  const HostOrder& order = report.order;
  if (!order.isBetter())
    return screen.heading("Order") +
           (order.allTried ? "  none of the others is better than the given one\n"
                           : fmt::format("  the given one: none of {} others is better\n", order.tried));
  std::vector<std::string> names = namesInOrder(order, order.proposed);
  const std::vector<int> ranks = ranksInOrder(report.plan, order.proposed);
  std::string text = screen.heading(
      fmt::format("Proposed order, {}",
                  order.allTried ? "the best there is" : fmt::format("the best of {}", order.tried)));
  const bool whole = names.size() <= kMostHosts;
  const std::size_t shown = whole ? names.size() : kMostHosts;
  text += fmt::format("  {}{}\n",
                      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ","),
                      whole ? "" : fmt::format(" and {} more", names.size() - shown));
  text += screen.heading("As a hostfile");
  for (std::size_t i = 0; i < names.size() && i < kMostFileLines; ++i)
    text += fmt::format("  {} slots={}\n", names[i], ranks[i]);
  if (names.size() > kMostFileLines)
    text += fmt::format("  and {} more (--write-hostfile writes all)\n", names.size() - kMostFileLines);
  return text;
}

}  // namespace

std::string orderText(const OrderReport& report, const Terminal& screen) {
  std::string text = headText(report) + tableText(report, screen);
  for (int kind = 0; kind < kTrafficKinds; ++kind) {
    text += linksText(report, report.order.now, kind, "now", screen);
    if (report.order.isBetter()) text += linksText(report, report.order.proposed, kind, "proposed", screen);
  }
  return text + orderListText(report, screen);
}

}  // namespace xylem::cli
