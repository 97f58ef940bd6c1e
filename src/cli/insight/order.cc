// xylem order: the links of the fabric that a job's rings and trees share, and an order of hosts in which
// they share less.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/text_file.h"
#include "insight/fabric/fabric_file.h"
#include "insight/fabric/host_order.h"
#include "insight/fabric/name_ranges.h"
#include "planner/plan/plan_json.h"

namespace xylem::cli {
namespace {

// A link between switches and the hosts whose traffic crosses it.
struct BusyLink {
  const fabric::NetworkLink* link = nullptr;
  double bytes = 0;     // through each cable, per byte of the AllReduce
  double slowdown = 0;  // its time by that of the hosts' own links; below 1, the link waits for the hosts
  std::vector<fabric::Crossing> crossings;
};
// The busiest links by kind of traffic, the busiest first.
using BusyLinks = std::array<std::vector<BusyLink>, fabric::kTrafficKinds>;

// The values that the text and the JSON show.
struct OrderReport {
  const plan::Plan& plan;
  const fabric::Fabric& fabric;
  const fabric::HostOrder& order;
  std::string jobName;
  std::int64_t cables = 0;      // between switches
  double oversubscription = 0;  // of the leaves; infinite if one has no cable to others
  BusyLinks now, proposed;
  std::vector<std::string> assumptions = {};
};

// Names of the hosts in this order, and their numbers of ranks.
std::vector<std::string> namesInOrder(const fabric::HostOrder& order, const fabric::OrderedHosts& hosts) {
  std::vector<std::string> names;
  for (int site : hosts.order) names.push_back(order.attachments->name(site));
  return names;
}

std::vector<int> ranksInOrder(const plan::Plan& plan, const fabric::OrderedHosts& hosts) {
  std::vector<int> ranks;
  for (int site : hosts.order) ranks.push_back(plan.job().shapeOf(site).ranks());
  return ranks;
}

// The largest ratio, over all switches, of the bandwidth of the NICs at a switch to that of its cables to
// other switches. Infinite if a switch with NICs has no such cable, 0 without hosts.
double oversubscription(const fabric::Fabric& fabric) {
  std::vector<double> down(fabric.switches.size(), 0);
  std::vector<double> up(fabric.switches.size(), 0);
  for (const fabric::FabricHost& host : fabric.hosts)
    for (const fabric::FabricPort& port : host.ports)
      down[static_cast<std::size_t>(port.leaf)] += port.bandwidth;
  for (const fabric::FabricLink& link : fabric.links)
    for (int end : {link.a, link.b}) up[static_cast<std::size_t>(end)] += link.bandwidth * link.cables;
  double most = 0;
  for (std::size_t i = 0; i < down.size(); ++i) {
    if (down[i] <= 0) continue;
    most = std::max(most, up[i] > 0 ? down[i] / up[i] : std::numeric_limits<double>::infinity());
  }
  return most;
}

// At most `most` of them.
std::vector<BusyLink> busyLinks(const fabric::HostOrder& order, const fabric::OrderedHosts& hosts, int kind,
                                int most) {
  fabric::FabricGraph& network = *order.network;
  const fabric::Attachments& attachments = *order.attachments;
  // Route the traffic of this order, take the links with most of it, and look up which pairs of hosts they
  // carry.
  const fabric::Congestion congestion(hosts.traffic, attachments, network, hosts.order);
  std::vector<int> links = fabric::busiestLinks(congestion, network, kind);
  links.resize(std::min(links.size(), static_cast<std::size_t>(most)));
  std::vector<std::vector<fabric::Crossing>> who =
      fabric::crossings(hosts.traffic, kind, hosts.order, attachments, network, links);
  const double quiet = hosts.score[static_cast<std::size_t>(kind)].quiet;
  std::vector<BusyLink> busy;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (who[i].empty()) break;  // and so are all that are less busy
    const fabric::NetworkLink& link = network.link(links[i]);
    busy.push_back({&link, congestion.bytes(kind, links[i]) / static_cast<double>(link.cables),
                    congestion.time(kind, links[i]) / quiet, std::move(who[i])});
  }
  return busy;
}

OrderReport reportOf(const plan::Plan& plan, const fabric::Fabric& fabric, const fabric::HostOrder& order,
                     const std::string& jobName, int most) {
  OrderReport report{plan, fabric, order, jobName, 0, oversubscription(fabric), {}, {}};
  for (const fabric::FabricLink& link : fabric.links) report.cables += link.cables;
  for (int kind = 0; kind < fabric::kTrafficKinds; ++kind) {
    const auto at = static_cast<std::size_t>(kind);
    report.now[at] = busyLinks(order, order.now, kind, most);
    report.proposed[at] = order.isBetter() ? busyLinks(order, order.proposed, kind, most) : report.now[at];
  }
  return report;
}

// More of these are counted instead of listed.
constexpr std::size_t kMaxCrossings = 3;   // of a link
constexpr std::size_t kMaxNics = 2;        // of a link
constexpr std::size_t kMaxHosts = 64;      // of the proposed order
constexpr std::size_t kMaxHostsNow = 8;    // in the first line
constexpr std::size_t kMaxFileLines = 16;  // of the hostfile
constexpr double kMillisPerSecond = 1e3;
// A larger oversubscription is written as a whole number.
constexpr double kWholeFrom = 10;
// A larger slowdown is red.
constexpr double kSlow = 1.005;

std::string overText(double over) {
  if (over <= 0) return "";
  if (std::isinf(over)) return "; a leaf without a cable to others";
  return over < kWholeFrom ? fmt::format("; leaves oversubscribed up to {:.2g}:1", over)
                           : fmt::format("; leaves oversubscribed up to {:.0f}:1", over);
}

std::string headText(const OrderReport& report, const Terminal& screen) {
  const connect::Job& job = report.plan.job();
  const std::size_t switches = report.fabric.switches.size();
  const std::vector<std::string> names = namesInOrder(report.order, report.order.now);
  const std::size_t shown = std::min(names.size(), kMaxHostsNow);
  return fmt::format("{} on {} of {}: {}{}\n{}: {}, {} between them{}\n{}", counted(job.ranks(), "rank"),
                     counted(job.hosts(), "host"), report.jobName,
                     fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ","),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "",
                     report.fabric.file, switches == 1 ? "1 switch" : fmt::format("{} switches", switches),
                     report.cables == 1 ? "1 cable" : fmt::format("{} cables", report.cables),
                     overText(report.oversubscription),
                     conditionsText(report.plan, report.assumptions, screen));
}

Cell slowdownCell(double slowdown) {
  return {fmt::format("{:.2f}", slowdown), slowdown > kSlow ? Style::kRed : Style::kGreen};
}

std::string tableText(const OrderReport& report, const Terminal& screen) {
  const fabric::HostOrder& order = report.order;
  std::vector<Column> columns = {{"AllReduce"}};
  std::vector<const fabric::TrafficScore*> scores;
  for (int kind = 0; kind < fabric::kTrafficKinds; ++kind) {
    columns.push_back({fmt::format("{}, now", fabric::trafficName(kind)), Align::kRight});
    scores.push_back(&order.now.score[static_cast<std::size_t>(kind)]);
    if (!order.isBetter()) continue;
    columns.push_back({"proposed", Align::kRight});
    scores.push_back(&order.proposed.score[static_cast<std::size_t>(kind)]);
  }
  Table table(columns);
  const auto add = [&](const std::string& what, const auto& cell) {
    std::vector<Cell> row = {{what}};
    for (const fabric::TrafficScore* score : scores) row.push_back(cell(*score));
    table.add(std::move(row));
  };
  add("times as long as without congestion",
      [](const fabric::TrafficScore& score) { return slowdownCell(score.slowdown); });
  add("ms per GB", [](const fabric::TrafficScore& score) {
    return Cell{fmt::format("{:.2f}", score.time * kMillisPerSecond)};
  });
  add("ms per GB without congestion", [](const fabric::TrafficScore& score) {
    return Cell{fmt::format("{:.2f}", score.quiet * kMillisPerSecond)};
  });
  const auto bytes = [&](const std::string& what, double fabric::TrafficScore::*member) {
    add(what,
        [member](const fabric::TrafficScore& score) { return Cell{fmt::format("{:.3f}", score.*member)}; });
  };
  bytes("bytes per byte: busiest cable", &fabric::TrafficScore::most);
  bytes("  90 % of the cables at most", &fabric::TrafficScore::ninetieth);
  bytes("  half of the cables at most", &fabric::TrafficScore::median);
  bytes("  all cables together", &fabric::TrafficScore::all);
  add("cables that slow it down", [](const fabric::TrafficScore& score) {
    return Cell{fmt::format("{} of {}", score.slowing, score.cables)};
  });
  return '\n' + table.text(screen) + "Between switches; a cable counts once in each direction.\n";
}

std::string crossingsText(const OrderReport& report, const fabric::OrderedHosts& hosts,
                          const BusyLink& busy) {
  const auto nameAt = [&](int place) {
    return report.order.attachments->name(hosts.order[static_cast<std::size_t>(place)]);
  };
  std::string text;
  for (std::size_t i = 0; i < busy.crossings.size() && i < kMaxCrossings; ++i)
    text += fmt::format("{}{} > {}", i == 0 ? "" : ", ", nameAt(busy.crossings[i].from),
                        nameAt(busy.crossings[i].to));
  if (busy.crossings.size() > kMaxCrossings)
    text += fmt::format(" and {} more", busy.crossings.size() - kMaxCrossings);
  return text;
}

std::vector<int> channelsOf(std::uint64_t bits) {
  std::vector<int> channels;
  for (int channel = 0; channel < 64; ++channel)
    if ((bits >> channel & 1) != 0) channels.push_back(channel);
  return channels;
}

// The channels whose data crosses the link.
std::string channelsText(const BusyLink& busy) {
  std::uint64_t channels = 0;
  for (const fabric::Crossing& crossing : busy.crossings) channels |= crossing.channels;
  return listText(channelsOf(channels));
}

std::set<std::string> nicNames(const fabric::Traffic& traffic, const std::set<int>& nics) {
  std::set<std::string> names;
  for (const int nic : nics) names.insert(traffic.nics[static_cast<std::size_t>(nic)].name);
  return names;
}

// The NICs at both ends of that data, by name.
std::string nicsText(const fabric::Traffic& traffic, const BusyLink& busy) {
  std::set<std::string> names;
  for (const fabric::Crossing& crossing : busy.crossings) {
    names.merge(nicNames(traffic, crossing.fromNics));
    names.merge(nicNames(traffic, crossing.toNics));
  }
  const std::size_t shown = std::min(names.size(), kMaxNics);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), std::next(names.begin(), static_cast<std::ptrdiff_t>(shown)), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string linksText(const OrderReport& report, const fabric::OrderedHosts& hosts,
                      const std::vector<BusyLink>& links, int kind, const std::string& when,
                      const Terminal& screen) {
  Table table({{"from"},
               {"to"},
               {"cables", Align::kRight},
               {"GB/s each", Align::kRight},
               {"bytes each", Align::kRight},
               {"times as long", Align::kRight},
               {"channels"},
               {"NICs"},
               {"hosts"}});
  for (const BusyLink& busy : links)
    table.add({{busy.link->from},
               {busy.link->to},
               {std::to_string(busy.link->cables)},
               {fmt::format("{:.1f}", busy.link->bandwidth)},
               {fmt::format("{:.3f}", busy.bytes)},
               slowdownCell(busy.slowdown),
               {channelsText(busy)},
               {nicsText(hosts.traffic, busy)},
               {crossingsText(report, hosts, busy)}});
  if (table.empty()) return "";
  return screen.heading(fmt::format("Busiest links of the {}s, {}",
                                    kind == fabric::kRingTraffic ? "ring" : "tree", when)) +
         table.text(screen, 2);
}

std::string orderListText(const OrderReport& report, const Terminal& screen) {
  const fabric::HostOrder& order = report.order;
  if (!order.isBetter())
    return screen.heading("Order") +
           (order.allTried ? "  none of the others is better than the given one\n"
                           : fmt::format("  the given one: none of {} others is better\n", order.tried));
  std::vector<std::string> names = namesInOrder(order, order.proposed);
  const std::vector<int> ranks = ranksInOrder(report.plan, order.proposed);
  std::string text = screen.heading(
      fmt::format("Proposed order, {}",
                  order.allTried ? "the best there is" : fmt::format("the best of {}", order.tried)));
  const bool whole = names.size() <= kMaxHosts;
  const std::size_t shown = whole ? names.size() : kMaxHosts;
  text += fmt::format("  {}{}\n",
                      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ","),
                      whole ? "" : fmt::format(" and {} more", names.size() - shown));
  text += screen.heading("As a hostfile");
  for (std::size_t i = 0; i < names.size() && i < kMaxFileLines; ++i)
    text += fmt::format("  {} slots={}\n", names[i], ranks[i]);
  if (names.size() > kMaxFileLines)
    text += fmt::format("  and {} more (--write-hostfile writes all)\n", names.size() - kMaxFileLines);
  return text;
}

std::string orderText(const OrderReport& report, const Terminal& screen) {
  std::string text = headText(report, screen) + tableText(report, screen);
  for (int kind = 0; kind < fabric::kTrafficKinds; ++kind) {
    const auto at = static_cast<std::size_t>(kind);
    text += linksText(report, report.order.now, report.now[at], kind, "now", screen);
    if (report.order.isBetter())
      text += linksText(report, report.order.proposed, report.proposed[at], kind, "proposed", screen);
  }
  return text + orderListText(report, screen);
}

struct HostNameOptions {
  std::string list;      // --hosts
  std::string hostfile;  // --hostfile
};

constexpr std::size_t kMaxHostfileBytes = std::size_t{256} << 20;

// The first word of every line, without a number of slots after a colon; `#` starts a comment.
std::vector<std::string> readHostfile(const std::string& path) {
  std::istringstream file(readFile(path, "a file with a host per line (--hostfile)", kMaxHostfileBytes));
  std::vector<std::string> hosts;
  for (std::string line; std::getline(file, line);) {
    constexpr const char* kBlank = " \t\r";
    line.resize(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string::npos) continue;
    std::string word = line.substr(begin, line.find_first_of(kBlank, begin) - begin);
    if (const std::size_t colon = word.rfind(':');
        colon != std::string::npos && word.find_first_not_of("0123456789", colon + 1) == std::string::npos)
      word.resize(colon);
    hosts.push_back(std::move(word));
  }
  return hosts;
}

// The names of the job's hosts in the fabric. Without a list or a file they are all hosts of the fabric, in
// its order. Throws InputError if there are not exactly `hosts` names.
std::vector<std::string> hostNames(const HostNameOptions& options, const fabric::Fabric& fabric, int hosts) {
  std::vector<std::string> names;
  SourceLocation where = {fabric.file, 0};
  if (!options.list.empty()) {
    where = {"--hosts", 0};
    names = fabric::expandNames(options.list, where);
  } else if (!options.hostfile.empty()) {
    where = {options.hostfile, 0};
    names = readHostfile(options.hostfile);
  } else {
    for (const fabric::FabricHost& host : fabric.hosts) names.push_back(host.name);
  }
  if (names.size() != static_cast<std::size_t>(hosts))
    throw InputError(
        where, fmt::format("{} hosts", names.size()),
        fmt::format("{}, as many as the job has; --hosts or --hostfile names them, in the order of ranks",
                    hosts));
  return names;
}

// "h2 slots=8", one line per host, as Open MPI reads it.
std::string hostfileText(const std::vector<std::string>& hosts, const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < hosts.size(); ++i) text += fmt::format("{} slots={}\n", hosts[i], ranks[i]);
  return text;
}

plan::Json scoreJson(const fabric::TrafficScore& score) {
  return {{"slowdown", score.slowdown},
          {"secondsPerGB", score.time},
          {"uncongestedSecondsPerGB", score.quiet},
          {"busiestCable", score.most},
          {"ninetiethOfCables", score.ninetieth},
          {"medianCable", score.median},
          {"allCables", score.all},
          {"slowingCables", score.slowing},
          {"cables", score.cables}};
}

plan::Json linksJson(const OrderReport& report, const fabric::OrderedHosts& hosts,
                     const std::vector<BusyLink>& busyLinks) {
  plan::Json links = plan::Json::array();
  for (const BusyLink& busy : busyLinks) {
    plan::Json crossings = plan::Json::array();
    for (const fabric::Crossing& crossing : busy.crossings)
      crossings.push_back(
          {{"from", report.order.attachments->name(hosts.order[static_cast<std::size_t>(crossing.from)])},
           {"to", report.order.attachments->name(hosts.order[static_cast<std::size_t>(crossing.to)])},
           {"bytes", crossing.bytes},
           {"channels", channelsOf(crossing.channels)},
           {"fromNics", nicNames(hosts.traffic, crossing.fromNics)},
           {"toNics", nicNames(hosts.traffic, crossing.toNics)}});
    links.push_back({{"from", busy.link->from},
                     {"to", busy.link->to},
                     {"cables", busy.link->cables},
                     {"bandwidth", busy.link->bandwidth},
                     {"bytesPerCable", busy.bytes},
                     {"slowdown", busy.slowdown},
                     {"crossings", std::move(crossings)}});
  }
  return links;
}

plan::Json hostsJson(const OrderReport& report, const fabric::OrderedHosts& hosts, const BusyLinks& links) {
  plan::Json json = {{"hosts", namesInOrder(report.order, hosts)},
                     {"ranks", ranksInOrder(report.plan, hosts)}};
  for (int kind = 0; kind < fabric::kTrafficKinds; ++kind) {
    const auto at = static_cast<std::size_t>(kind);
    plan::Json score = scoreJson(hosts.score[at]);
    score["busiestLinks"] = linksJson(report, hosts, links[at]);
    json[fabric::trafficName(kind)] = std::move(score);
  }
  return json;
}

// Bandwidths in GB/s, times in seconds per GB of the AllReduce, traffic in bytes per byte of it.
plan::Json toJson(const OrderReport& report) {
  const double over = report.oversubscription;
  return {{"format", "xylem-order-1"},
          {"ranks", report.plan.job().ranks()},
          {"nccl", rules::versionText(report.plan.nccl->version)},
          {"settings", plan::settingsJson(report.plan)},
          {"assumed", report.assumptions},
          {"fabric",
           {{"file", report.fabric.file},
            {"switches", report.fabric.switches.size()},
            {"cables", report.cables},
            {"hosts", report.fabric.hosts.size()},
            {"oversubscription", std::isinf(over) ? plan::Json(nullptr) : plan::Json(over)}}},
          {"better", report.order.isBetter()},
          {"allTried", report.order.allTried},
          {"tried", report.order.tried},
          {"now", hostsJson(report, report.order.now, report.now)},
          {"proposed", hostsJson(report, report.order.proposed, report.proposed)}};
}

constexpr int kMaxLinks = 1 << 20;

struct OrderArguments {
  JobInput job;
  std::string fabric;
  HostNameOptions hosts;
  std::string writeHostfile, writeFabric;
  int seed = 1;
  int links = 4;
  bool json = false;
};

constexpr const char* kOrderExamples = R"(Examples:
  xylem order dgxh100.xml --nodes 4 --fabric fabric.txt
                                      all four hosts of the fabric, in its order
  xylem order dgxh100.xml --nodes 2 --fabric fabric.txt --hosts h0,h3
                                      two of them; h[0-3] is h0,h1,h2,h3
  xylem order dgxh100.xml --nodes 16 --fabric ib.txt --hostfile hosts --write-hostfile better
                                      a fabric as ibnetdiscover prints it, hosts as mpirun gets them
  xylem order --host dgxh100.xml:2 --host dgxa100.xml:2 --fabric fabric.txt
                                      hosts of two kinds
  xylem order dgxh100.xml --nodes 4 --fabric fabric.txt --json
                                      everything, in the format xylem-order-1

A fabric is described by lines such as
  switch leaf[0-1] spine[0-1]
  link   leaf[0-1] spine[0-1] 400Gb/s x2
  nic    h[0-1] mlx5_[0-7] leaf0 400Gb/s
  nic    h[2-3] mlx5_[0-7] leaf1 400Gb/s)";

int runOrder(const OrderArguments& options) {
  const Settings settings = readSettings();
  JobRequest job = readJob(options.job, settings);
  plan::PlanRequest& request = job.plan;
  request.decisions = false;
  std::vector<std::string> remarks;
  std::optional<Progress> progress(fmt::format("reading {}", options.fabric));
  const fabric::Fabric fabric = fabric::readFabric(options.fabric, &remarks);
  progress->say(fmt::format("planning {}", jobName(options.job)));
  const plan::Plan plan = plan::planJob(request, settings);
  progress->say("looking for an order of hosts");
  const fabric::HostOrder order = fabric::orderHosts({plan,
                                                      fabric,
                                                      hostNames(options.hosts, fabric, plan.job().hosts()),
                                                      request.placement,
                                                      !request.hostOfRank.empty(),
                                                      {.seed = static_cast<std::uint64_t>(options.seed)}});
  progress.reset();
  for (const std::string& remark : remarks) warn(remark);
  OrderReport report = reportOf(plan, fabric, order, jobName(options.job), options.links);
  report.assumptions = std::move(job.assumptions);
  if (!options.writeFabric.empty()) writeFile(options.writeFabric, fabric::fabricText(fabric));
  if (!options.writeHostfile.empty())
    writeFile(options.writeHostfile,
              hostfileText(namesInOrder(order, order.proposed), ranksInOrder(plan, order.proposed)));
  if (options.json)
    writeJson(toJson(report));
  else
    writeOut(orderText(report, terminalOf(stdout)));
  return kOk;
}

}  // namespace

void addOrder(CommandLine& line) {
  const auto options = std::make_shared<OrderArguments>();
  Command command = line.add(
      "order",
      "which links of the fabric a job's rings and trees share, and an order of hosts that avoids it");
  addJobOptions(command, options->job);
  command
      .option("--fabric", options->fabric,
              "the network between the hosts: switches, links and NICs, or what ibnetdiscover prints")
      .value("FILE")
      .required();
  Option hosts =
      command
          .option("--hosts", options->hosts.list,
                  "the job's hosts by their names in the fabric, in the order of ranks (default: all)")
          .value("A,B[0-7],...");
  command.option("--hostfile", options->hosts.hostfile, "the same from a file, one host per line")
      .value("FILE")
      .excludes(hosts);
  command
      .option("--write-hostfile", options->writeHostfile,
              "write the proposed order to a file, as mpirun's --hostfile reads it")
      .value("OUT");
  command
      .option("--write-fabric", options->writeFabric,
              "write the fabric to a file, as lines that people can change")
      .value("OUT");
  command.option("--links", options->links, "how many of the busiest links to show (default 4)")
      .value("N")
      .within(0, kMaxLinks);
  command.option("--seed", options->seed, "which of many searches to do (default 1)")
      .value("N")
      .within(0, 1 << 30);
  command.flag("--json", options->json, "print JSON");
  command.footer(kOrderExamples);
  command.action([options] { return runOrder(*options); });
}

}  // namespace xylem::cli
