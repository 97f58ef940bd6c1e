// xylem preflight: whether the ranks of a job decide alike, or would wait for each other for ever.
#include "insight/preflight/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cli/commands.h"
#include "cli/host_view.h"
#include "cli/job_input.h"
#include "cli/machine_input.h"
#include "cli/number_text.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "planner/plan/plan_json.h"

namespace xylem::cli {
namespace {

// A value that ranks compute alone and do not exchange: its name.
std::string valueName(preflight::Unexchanged what) {
  switch (what) {
    case preflight::Unexchanged::kTreePattern:
      return "pattern of the trees";
    case preflight::Unexchanged::kNetLatency:
      return "latency of the NICs";
    case preflight::Unexchanged::kNvSwitch:
      return "has an NVSwitch";
    case preflight::Unexchanged::kChannels:
      return "channels";
    case preflight::Unexchanged::kNvlsChannels:
      return "channels of NVLS";
    case preflight::Unexchanged::kCollnetHeads:
      return "heads of CollNet";
    case preflight::Unexchanged::kTransferChannels:
      return "channels of send/receive";
    case preflight::Unexchanged::kChannelsPerPeer:
      return "channels per peer";
  }
  return "";
}

// How hosts come to different values, in one sentence.
std::string explain(preflight::Unexchanged what) {
  switch (what) {
    case preflight::Unexchanged::kTreePattern:
      return "A host whose tree meets the network with one GPU (TREE) expects 15 % less of Tree than one "
             "whose "
             "tree meets it with two (BALANCED_TREE, SPLIT_TREE).";
    case preflight::Unexchanged::kNetLatency:
      return "Each rank adds the latency that its own NICs report to every step between hosts.";
    case preflight::Unexchanged::kNvSwitch:
      return "Ranks without an NVSwitch rule CollNetDirect out, the others do not.";
    case preflight::Unexchanged::kChannels:
      return "A rank has at least as many channels as its GPU uses for NVLS.";
    case preflight::Unexchanged::kNvlsChannels:
      return "GPUs use 16 channels for NVLS, from compute capability 100 on 32.";
    case preflight::Unexchanged::kCollnetHeads:
      return "Heads are the GPUs next to a NIC of their own; every rank counts those of its host.";
    case preflight::Unexchanged::kTransferChannels:
      return "Send and receive use as many channels as the communicator has on this rank.";
    case preflight::Unexchanged::kChannelsPerPeer:
      return "Each rank counts by the NVLinks and NICs of its host how many channels two ranks share; sender "
             "and receiver then cut a transfer differently.";
  }
  return "";
}

// Why connecting channels never ends if ranks differ in this.
std::string explain(preflight::Setup setup) {
  switch (setup) {
    case preflight::Setup::kChannels:
      return "ranks have different numbers of channels: some wait for neighbours that never connect";
    case preflight::Setup::kNvlsChannels:
      return "ranks have different numbers of channels for NVLS: its trees between hosts are never complete";
    case preflight::Setup::kCollnetHeads:
      return "ranks count different numbers of CollNet heads: they do not set up the same CollNet";
  }
  return "";
}

std::string remarkName(preflight::Remarked what) {
  switch (what) {
    case preflight::Remarked::kGpus:
      return "compute capability";
    case preflight::Remarked::kCpus:
      return "CPUs";
    case preflight::Remarked::kNics:
      return "NICs";
    case preflight::Remarked::kNicNames:
      return "names of the NICs";
    case preflight::Remarked::kRings:
      return "rings";
    case preflight::Remarked::kRingPaths:
      return "paths of the rings";
    case preflight::Remarked::kRingNics:
      return "NICs of the rings";
    case preflight::Remarked::kNicOfChannel:
      return "NIC of each ring";
    case preflight::Remarked::kTrees:
      return "trees";
    case preflight::Remarked::kTreePaths:
      return "paths of the trees";
    case preflight::Remarked::kNvls:
      return "NVLS";
    case preflight::Remarked::kCollnet:
      return "CollNet";
    case preflight::Remarked::kRanksPerNode:
      return "ranks per node";
    case preflight::Remarked::kSeparateDomains:
      return "domains";
  }
  return "";
}

// The meaning of the remark for the job; empty if its values say enough.
std::string remarkMeaning(const preflight::Remark& remark) {
  switch (remark.what) {
    case preflight::Remarked::kGpus:
      return remark.job.empty() ? "" : "GPUs of different architectures together do without LL128.";
    case preflight::Remarked::kCpus:
      return remark.job.empty() ? ""
                                : "CPUs of different makers: all ranks use the limits of LL that AMD's have.";
    case preflight::Remarked::kNics:
      return remark.apart
                 ? "NICs of InfiniBand and of Ethernet do not connect to each other: leave those of one of "
                   "them out on all hosts (NCCL_IB_HCA), or channels that join the two hang."
                 : "NICs that are not alike: the slowest sets the pace.";
    case preflight::Remarked::kNicNames:
      return "A NIC's number is its place in the order in which its host finds the cards. Only the cabling "
             "tells which cards of two hosts are on one rail; where rails do not reach each other, "
             "connecting hangs.";
    case preflight::Remarked::kRingPaths:
    case preflight::Remarked::kTreePaths:
      return "Paths are those between GPUs, and from GPUs to NICs; the job counts the longest.";
    case preflight::Remarked::kRingNics:
      return "Where rings of one kind share NICs and those of another do not, the network may pause senders "
             "(PFC); hosts of one kind can have one graph file.";
    case preflight::Remarked::kNicOfChannel:
      return "A channel leaves a host by its NIC there and enters the next one by its NIC there: on "
             "different rails, data crosses the spine. A graph file names NICs by their numbers, so hosts "
             "with another "
             "order of cards need one each; `xylem diff` of two hosts shows the order.";
    case preflight::Remarked::kNvls:
      return "NVLS uses as many heads as the host with the fewest; with none on some host there is no NVLS.";
    case preflight::Remarked::kCollnet:
      return "CollNet needs a network that reduces at every host.";
    case preflight::Remarked::kRanksPerNode:
      return "Nodes of different sizes: send and receive go over all ranks in turn, not node by node, so "
             "that "
             "all-to-all is slower.";
    case preflight::Remarked::kSeparateDomains:
      return "GPUs of one host that have no better way to each other than the network are nodes of their "
             "own.";
    default:
      return "";
  }
}

// Up to this many kinds of hosts have a column each. More share one, grouped by their value.
constexpr std::size_t kMaxKindColumns = 4;
constexpr std::size_t kMaxNames = 3;  // of kinds with the same value in the shared column
// More kinds, ranges of hosts or ranks, and lines of mismatches are left out.
constexpr std::size_t kMaxKindsListed = 24;
constexpr std::size_t kMaxNumberRanges = 4;
constexpr std::size_t kMaxMismatches = 24;
// A predicted time that changes by a smaller share counts as unchanged.
constexpr double kSameTime = 0.005;
// From this change on (ten times as long), a time is shown as a multiple instead of in percent.
constexpr double kManyTimes = 9;

using Kinds = std::vector<HostKind>;

// A list of sentences, each on a line of its own and wrapped to the terminal's width.
class Sentences {
 public:
  // Adds each sentence once.
  void add(const std::string& text) {
    if (!text.empty() && said_.insert(text).second) table_.add({{text}});
  }
  std::string text(const Terminal& screen) const { return table_.text(screen, 2); }

 private:
  std::set<std::string> said_;
  Table table_{{{""}}};
};

// The columns of a table that have a value per kind of host.
class ByKind {
 public:
  explicit ByKind(const Kinds& kinds) : kinds_(kinds) {}

  void addColumns(std::vector<Column>& columns) const {
    if (together())
      columns.push_back({"kinds of hosts"});
    else
      for (const HostKind& kind : kinds_) columns.push_back({kind.name});
  }

  void addCells(std::vector<Cell>& row, const std::vector<std::string>& values, Style style) const {
    if (!together()) {
      for (const std::string& value : values) row.push_back({value, style});
      return;
    }
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
          values.begin() + static_cast<std::ptrdiff_t>(i))
        continue;
      text += fmt::format("{}{}:", text.empty() ? "" : "; ", values[i]);
      const auto count = static_cast<std::size_t>(std::count(values.begin(), values.end(), values[i]));
      std::size_t named = 0;
      for (std::size_t other = i; other < values.size() && named < kMaxNames; ++other)
        if (values[other] == values[i]) {
          text += ' ' + kinds_[other].name;
          ++named;
        }
      if (count > named) text += fmt::format(" and {} more", count - named);
    }
    row.push_back({text, style});
  }

 private:
  bool together() const { return kinds_.size() > kMaxKindColumns; }
  const Kinds& kinds_;
};

std::string namesOfKinds(const plan::Plan& plan, const Kinds& kinds, const Terminal& screen) {
  Table table({{"kind"}, {"hosts"}, {"ranks"}, {"a host has"}});
  for (std::size_t view = 0; view < kinds.size() && view < kMaxKindsListed; ++view)
    table.add({{kinds[view].name, Style::kBold},
               {listText(kinds[view].hosts, kMaxNumberRanges)},
               {listText(kinds[view].ranks, kMaxNumberRanges)},
               {fmt::format("{}, {}",
                            counted(plan.hostPlans[view]->system().count(topology::NodeType::kGpu), "GPU"),
                            smText(*plan.hostPlans[view]))}});
  std::string text = screen.heading("Kinds of hosts") + table.text(screen, 2);
  if (kinds.size() > kMaxKindsListed)
    text += fmt::format("  and {} more (--json has all)\n", kinds.size() - kMaxKindsListed);
  return text;
}

// Mismatches at adjacent sizes with the same algorithms and protocols: a single row.
struct ChannelStretch {
  const preflight::CollectiveMismatch* begin;
  std::uint64_t last;
  std::vector<std::pair<int, int>> channels;  // by view: the fewest and the most channels
};

bool sameButBlocks(const preflight::CollectiveMismatch& a, const preflight::CollectiveMismatch& b) {
  return a.collective == b.collective && a.operands == b.operands &&
         std::equal(a.byView.begin(), a.byView.end(), b.byView.begin(),
                    [](const tuning::Pick& x, const tuning::Pick& y) {
                      return x.runs == y.runs && x.algorithm == y.algorithm && x.protocol == y.protocol;
                    });
}

std::vector<ChannelStretch> stretches(const std::vector<preflight::CollectiveMismatch>& mismatches) {
  std::vector<ChannelStretch> all;
  for (const preflight::CollectiveMismatch& mismatch : mismatches) {
    if (all.empty() || all.back().last + 1 != mismatch.first || !sameButBlocks(*all.back().begin, mismatch)) {
      all.push_back({&mismatch, mismatch.last, {}});
      for (const tuning::Pick& pick : mismatch.byView)
        all.back().channels.emplace_back(pick.channels, pick.channels);
      continue;
    }
    all.back().last = mismatch.last;
    for (std::size_t view = 0; view < mismatch.byView.size(); ++view) {
      auto& [least, most] = all.back().channels[view];
      least = std::min(least, mismatch.byView[view].channels);
      most = std::max(most, mismatch.byView[view].channels);
    }
  }
  return all;
}

std::vector<std::string> picksText(const ChannelStretch& stretch) {
  const std::vector<tuning::Pick>& picks = stretch.begin->byView;
  const bool onlyBlocks = std::all_of(picks.begin(), picks.end(), [&](const tuning::Pick& pick) {
    return pick.algorithm == picks.front().algorithm && pick.protocol == picks.front().protocol;
  });
  std::vector<std::string> texts;
  for (std::size_t view = 0; view < picks.size(); ++view) {
    if (!picks[view].runs) {
      texts.emplace_back("nothing");
      continue;
    }
    std::string text = fmt::format("{}/{}", name(picks[view].algorithm), name(picks[view].protocol));
    const auto [least, most] = stretch.channels[view];
    if (onlyBlocks)
      text += least == most ? fmt::format(", {}", counted(least, "channel"))
                            : fmt::format(", {}-{} channels", least, most);
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string bytesText(std::uint64_t first, std::uint64_t last) {
  return last >= tuning::kMaxBytes ? fmt::format("{}-", first) : fmt::format("{}-{}", first, last);
}

bool differInChannels(const preflight::TransferMismatch& mismatch) {
  return std::any_of(mismatch.byView.begin(), mismatch.byView.end(),
                     [&](const preflight::TransferSplit& split) {
                       return split.channels != mismatch.byView.front().channels;
                     });
}

std::string mismatchesText(const preflight::Preflight& result, const Kinds& kinds, const Terminal& screen) {
  const ByKind byKind(kinds);
  std::vector<Column> columns = {{"operation"}, {"size"}, {"exact bytes"}};
  byKind.addColumns(columns);
  Table table(columns);
  std::size_t lines = 0;
  const auto add = [&](const std::string& what, std::uint64_t first, std::uint64_t last,
                       const std::vector<std::string>& values) {
    if (++lines > kMaxMismatches) return;
    std::vector<Cell> row = {{what, Style::kBold},
                             {sizesText(first, last, tuning::kMaxBytes)},
                             {bytesText(first, last), Style::kDim}};
    byKind.addCells(row, values, Style::kRed);
    table.add(std::move(row));
  };
  for (const ChannelStretch& stretch : stretches(result.collectives)) {
    std::string what = name(stretch.begin->collective);
    if (stretch.begin->operands != preflight::Operands::kSum)
      what += fmt::format(", {}", preflight::name(stretch.begin->operands));
    add(what, stretch.begin->first, stretch.last, picksText(stretch));
  }
  for (std::size_t i = 0; i < result.transfers.size(); ++i) {
    const preflight::TransferMismatch& mismatch = result.transfers[i];
    std::vector<std::string> values;
    std::uint64_t last = mismatch.last;
    if (differInChannels(mismatch)) {
      // With different numbers of channels the parts do not matter: one row covers this size and all larger
      // ones.
      last = result.transfers.back().last;
      i = result.transfers.size();
      for (const preflight::TransferSplit& split : mismatch.byView)
        values.push_back("over " + counted(split.channels, "channel"));
    } else {
      for (const preflight::TransferSplit& split : mismatch.byView)
        values.push_back(fmt::format("{}, {}", name(split.protocol), counted(split.parts, "part")));
    }
    add("Send/Receive", mismatch.first, last, values);
  }
  if (table.empty()) return "";
  std::string text = screen.heading("What ranks would do differently") + table.text(screen, 2);
  if (lines > kMaxMismatches) text += fmt::format("  and {} more (--json has all)\n", lines - kMaxMismatches);
  return text;
}

std::string setupText(const preflight::Preflight& result, const Terminal& screen) {
  if (result.setup.empty()) return "";
  std::string text = screen.heading("Connecting would not end");
  Sentences sentences;
  for (preflight::Setup setup : result.setup) sentences.add(explain(setup));
  return text + sentences.text(screen);
}

std::string reachOf(const preflight::Cause& cause) {
  std::string text = cause.setup ? "connecting" : "";
  for (Collective collective : cause.collectives)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name(collective));
  if (cause.transfers) text += fmt::format("{}Send/Receive", text.empty() ? "" : ", ");
  return text.empty() ? "nothing: harmless here" : text;
}

std::string causesText(const preflight::Preflight& result, const Kinds& kinds, const Terminal& screen) {
  if (result.causes.empty()) return "";
  const ByKind byKind(kinds);
  std::vector<Column> columns = {{"value"}};
  byKind.addColumns(columns);
  columns.push_back({"changes"});
  Table table(columns);
  Sentences sentences;
  for (const preflight::Cause& cause : result.causes) {
    std::vector<Cell> row = {{valueName(cause.what), Style::kBold}};
    byKind.addCells(row, cause.byView, Style::kPlain);
    row.push_back({reachOf(cause), cause.hangs() ? Style::kRed : Style::kDim});
    table.add(std::move(row));
    if (cause.hangs()) sentences.add(explain(cause.what));
  }
  return screen.heading("Why: what each rank computes alone, and NCCL does not exchange") +
         table.text(screen, 2) + sentences.text(screen);
}

std::string timeText(float time, float before) {
  if (std::isinf(time)) return "cannot run";
  const double change = static_cast<double>(time) / static_cast<double>(before) - 1;
  std::string text = fmt::format("{:.1f}", time);
  if (change >= kManyTimes)
    text += fmt::format(" ({:.0f} times)", change + 1);
  else if (std::abs(change) >= kSameTime)
    text += fmt::format(" ({:+.0f} %)", 100 * change);
  return text;
}

std::string costsText(const preflight::RemedySearch& search, const Terminal& screen) {
  std::vector<Column> columns = {{"operation"}, {"size", Align::kRight}, {"us as it is", Align::kRight}};
  for (std::size_t i = 0; i < search.found.size(); ++i)
    columns.push_back({search.found.size() == 1 ? "with it" : fmt::format("with {}", i + 1), Align::kRight});
  Table table(columns);
  const std::vector<std::uint64_t> sizes = preflight::costSizes();
  for (Collective collective : kAllCollectives)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const float before = search.now[collective][i];
      std::vector<Cell> row = {
          {name(collective), Style::kBold}, {byteText(sizes[i])}, {fmt::format("{:.1f}", before)}};
      bool changes = false;
      for (const preflight::Remedy& remedy : search.found) {
        const float time = remedy.times[collective][i];
        row.push_back({timeText(time, before)});
        changes = changes || std::abs(time / before - 1) >= static_cast<float>(kSameTime);
      }
      if (changes) table.add(std::move(row));
    }
  if (table.empty()) return "  They cost nothing at the sizes that were compared, by the predicted times.\n";
  return screen.heading("What it costs: predicted times where they change, of the slowest kind of host") +
         table.text(screen, 2);
}

std::string remediesText(const preflight::RemedySearch& search, const Terminal& screen) {
  if (search.found.empty())
    return screen.heading("What avoids it") +
           fmt::format("  none of {}: run a job per kind of host\n",
                       counted(search.tried, "combination") + " of settings that were tried");
  std::string text =
      screen.heading(search.found.size() == 1 ? "What avoids it, set for all ranks"
                                              : "What avoids it: any of these, set for all ranks");
  for (std::size_t i = 0; i < search.found.size(); ++i)
    text += fmt::format("  {}{}\n", search.found.size() == 1 ? "" : fmt::format("{}  ", i + 1),
                        screen.paint(Style::kGreen, search.found[i].text()));
  return text + costsText(search, screen);
}

std::string nicsText(const plan::Plan& plan, const preflight::Preflight& result, const Kinds& kinds,
                     const Terminal& screen) {
  if (!result.lacksNics()) return "";
  std::string text = screen.heading("Without a usable NIC");
  for (std::size_t view = 0; view < kinds.size(); ++view) {
    if (result.endsWithoutNic[view] == 0) continue;
    const bool any = plan.hostPlans[view]->system().count(topology::NodeType::kNet) > 0;
    text += fmt::format("  {}, hosts {}, ranks {}: {}\n", screen.paint(Style::kRed, kinds[view].name),
                        listText(kinds[view].hosts, kMaxNumberRanges),
                        listText(kinds[view].ranks, kMaxNumberRanges),
                        any ? "GPUs at the ends of the rings reach none of the NICs"
                            : "the description has no NIC, so the rings cannot leave the host");
  }
  return text;
}

std::string networksText(const plan::Plan& plan, const preflight::Preflight& result, const Kinds& kinds,
                         const Terminal& screen) {
  if (!result.networksApart) return "";
  Table table({{"kind"}, {"hosts"}, {"network"}, {"NICs"}});
  for (std::size_t view = 0; view < kinds.size() && view < kMaxKindsListed; ++view)
    table.add({{kinds[view].name, Style::kBold},
               {listText(kinds[view].hosts, kMaxNumberRanges)},
               {preflight::name(result.networks[view]), Style::kRed},
               {preflight::nicNames(plan.hostPlans[view]->system())}});
  Sentences sentences;
  if (result.networksApart->second == preflight::Network::kSockets) {
    sentences.add(
        "RDMA does not connect to sockets: NCCL says nothing, and the ranks wait for each other until their "
        "time-outs.");
    sentences.add(
        "Find out why NCCL sees no RDMA device on the hosts with sockets (NCCL_IB_HCA, NCCL_IB_DISABLE, the "
        "driver, a container without /dev/infiniband), or set NCCL_IB_DISABLE=1 for all ranks, so that all "
        "use the interfaces of NCCL_SOCKET_IFNAME.");
  } else {
    sentences.add(
        "InfiniBand does not connect to RDMA over Ethernet (RoCE): the PCI class of a NIC says which it is, "
        "0x0207 or 0x0200.");
    sentences.add(
        "Give the ports of all hosts one link layer (`mlxconfig -d DEVICE set LINK_TYPE_P1=1` for "
        "InfiniBand, 2 for Ethernet), choose NICs of one kind with NCCL_IB_HCA, or set NCCL_IB_DISABLE=1 for "
        "all ranks, so that all use the interfaces of NCCL_SOCKET_IFNAME. A file written by hand may have "
        "the class wrong.");
  }
  return screen.heading("Networks that do not connect") + table.text(screen, 2) + sentences.text(screen);
}

std::string remarksText(const preflight::Preflight& result, const Kinds& kinds, const Terminal& screen) {
  if (result.remarks.empty()) return "";
  const ByKind byKind(kinds);
  std::vector<Column> columns = {{""}};
  byKind.addColumns(columns);
  columns.push_back({"the job"});
  Table table(columns);
  Sentences sentences;
  for (const preflight::Remark& remark : result.remarks) {
    std::vector<Cell> row = {{remarkName(remark.what), Style::kBold}};
    byKind.addCells(row, remark.byView, Style::kPlain);
    row.push_back({remark.job});
    table.add(std::move(row));
    sentences.add(remarkMeaning(remark));
  }
  return screen.heading("Also different") + table.text(screen, 2) + sentences.text(screen);
}

std::string verdict(const plan::Plan& plan, const preflight::Preflight& result, const Terminal& screen) {
  const connect::Job& job = plan.job();
  std::string text = fmt::format("{} on {}: ", counted(job.ranks(), "rank"), counted(job.hosts(), "host"));
  if (result.disagrees())
    return text +
           screen.paint(Style::kRed, fmt::format("this job would hang under NCCL {}",
                                                 rules::versionText(plan.nccl->version))) +
           '\n';
  if (result.lacksNics()) return text + screen.paint(Style::kRed, "this job cannot connect its hosts") + '\n';
  if (result.networksApart)
    return text +
           screen.paint(Style::kRed,
                        fmt::format("this job cannot connect its hosts: {} does not connect to {}",
                                    preflight::name(result.networksApart->first),
                                    preflight::name(result.networksApart->second))) +
           '\n';
  if (plan.connections.options.rules == connect::Rules::kXylem)
    return text + screen.paint(Style::kGreen, "all ranks agree, by Xylem's rules") + '\n';
  return text + screen.paint(Style::kGreen, "all ranks decide alike") +
         (result.remarks.empty() ? "" : ", though their hosts differ") + '\n';
}

// The verdict, the operations that would hang, why, and what avoids it.
std::string preflightText(const plan::Plan& plan, const preflight::Preflight& result,
                          const Terminal& screen) {
  const Kinds kinds = hostKinds(plan);
  std::string text = verdict(plan, result, screen) + namesOfKinds(plan, kinds, screen);
  text += setupText(result, screen) + mismatchesText(result, kinds, screen);
  text += causesText(result, kinds, screen);
  if (result.disagrees()) text += remediesText(result.remedies, screen);
  text += nicsText(plan, result, kinds, screen) + networksText(plan, result, kinds, screen);
  text += remarksText(result, kinds, screen);
  if (plan.job().hosts() > 1)
    text += screen.paint(Style::kDim,
                         "not checked: the subnets of the NICs, the VLANs and the net plugin of each host") +
            '\n';
  return text;
}

// The first and last of each run of consecutive numbers: [[0, 7], [16, 23]].
plan::Json runsJson(const std::vector<int>& numbers) {
  plan::Json runs = plan::Json::array();
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    runs.push_back({numbers[i], numbers[end]});
    i = end + 1;
  }
  return runs;
}

plan::Json kindsJson(const plan::Plan& plan) {
  plan::Json json = plan::Json::array();
  for (const HostKind& kind : hostKinds(plan))
    json.push_back({{"name", kind.name}, {"hosts", runsJson(kind.hosts)}, {"ranks", runsJson(kind.ranks)}});
  return json;
}

// Null stands for no upper end.
plan::Json lastJson(std::uint64_t last) {
  return last >= tuning::kMaxBytes ? plan::Json(nullptr) : plan::Json(last);
}

plan::Json pickJson(const tuning::Pick& pick) {
  if (!pick.runs) return nullptr;
  return {{"algorithm", name(pick.algorithm)},
          {"protocol", name(pick.protocol)},
          {"channels", pick.channels},
          {"warps", pick.warps}};
}

plan::Json collectivesJson(const preflight::Preflight& result) {
  plan::Json json = plan::Json::array();
  for (const preflight::CollectiveMismatch& mismatch : result.collectives) {
    plan::Json byKind = plan::Json::array();
    for (const tuning::Pick& pick : mismatch.byView) byKind.push_back(pickJson(pick));
    json.push_back({{"collective", name(mismatch.collective)},
                    {"operands", preflight::name(mismatch.operands)},
                    {"firstBytes", mismatch.first},
                    {"lastBytes", lastJson(mismatch.last)},
                    {"byKind", std::move(byKind)}});
  }
  return json;
}

plan::Json transfersJson(const preflight::Preflight& result) {
  plan::Json json = plan::Json::array();
  for (const preflight::TransferMismatch& mismatch : result.transfers) {
    plan::Json byKind = plan::Json::array();
    for (const preflight::TransferSplit& split : mismatch.byView)
      byKind.push_back(
          {{"protocol", name(split.protocol)}, {"parts", split.parts}, {"channels", split.channels}});
    json.push_back({{"firstBytes", mismatch.first},
                    {"lastBytes", lastJson(mismatch.last)},
                    {"byKind", std::move(byKind)}});
  }
  return json;
}

plan::Json causesJson(const preflight::Preflight& result) {
  plan::Json json = plan::Json::array();
  for (const preflight::Cause& cause : result.causes) {
    plan::Json collectives = plan::Json::array();
    for (Collective collective : cause.collectives) collectives.push_back(name(collective));
    json.push_back({{"value", preflight::name(cause.what)},
                    {"byKind", cause.byView},
                    {"connecting", cause.setup},
                    {"collectives", std::move(collectives)},
                    {"sendReceive", cause.transfers}});
  }
  return json;
}

plan::Json timesJson(const preflight::PredictedTimes& times) {
  plan::Json json = plan::Json::object();
  for (Collective collective : kAllCollectives)
    for (float time : times[collective]) json[name(collective)].push_back(plan::number(time));
  return json;
}

plan::Json remediesJson(const preflight::RemedySearch& search) {
  plan::Json found = plan::Json::array();
  for (const preflight::Remedy& remedy : search.found) {
    plan::Json settings = plan::Json::object();
    for (const auto& [name, value] : remedy.settings) settings[name] = value;
    found.push_back({{"settings", std::move(settings)},
                     {"slowdown", remedy.slowdown},
                     {"microseconds", timesJson(remedy.times)}});
  }
  plan::Json json = {{"tried", search.tried}, {"found", std::move(found)}};
  if (search.tried == 0) return json;
  json["bytes"] = preflight::costSizes();
  json["microsecondsNow"] = timesJson(search.now);
  return json;
}

plan::Json networksJson(const preflight::Preflight& result) {
  plan::Json json = plan::Json::array();
  for (const preflight::Network network : result.networks) json.push_back(preflight::name(network));
  return json;
}

plan::Json remarksJson(const preflight::Preflight& result) {
  plan::Json json = plan::Json::array();
  for (const preflight::Remark& remark : result.remarks)
    json.push_back({{"value", preflight::name(remark.what)}, {"byKind", remark.byView}, {"job", remark.job}});
  return json;
}

// Format xylem-preflight-1. All lists "byKind" are in the order of `kinds`.
plan::Json toJson(const plan::Plan& plan, const preflight::Preflight& result) {
  plan::Json setup = plan::Json::array();
  for (preflight::Setup what : result.setup) setup.push_back(preflight::name(what));
  const plan::Json json = {{"format", "xylem-preflight-1"},
                           {"fine", result.isFine()},
                           {"ranks", plan.job().ranks()},
                           {"hosts", plan.job().hosts()},
                           {"nccl", rules::versionText(plan.nccl->version)},
                           {"settings", plan::settingsJson(plan)},
                           {"nodes", plan.connections.nodes.count()},
                           {"kinds", kindsJson(plan)},
                           {"connecting", std::move(setup)},
                           {"collectives", collectivesJson(result)},
                           {"sendReceive", transfersJson(result)},
                           {"causes", causesJson(result)},
                           {"remedies", remediesJson(result.remedies)},
                           {"ringEndsWithoutNic", result.endsWithoutNic},
                           {"networks", networksJson(result)},
                           {"networksConnect", !result.networksApart},
                           {"remarks", remarksJson(result)}};
  return json;
}

struct PreflightArguments {
  JobInput job;
  bool json = false;
};

constexpr const char* kPreflightExamples = R"(Examples:
  xylem preflight --host dgxh100.xml:2 --host dgxa100.xml
                                      two hosts of one kind and one of another in one job
  NCCL_ALGO=^Tree xylem preflight --host dgxh100.xml:2 --host dgxa100.xml
                                      the same under a setting
  xylem preflight --host a.xml@0,1,2,3 --host b.xml --json
                                      everything, in the format xylem-preflight-1

Exit status: 0 all ranks decide alike, 1 they do not or cannot connect, 2 an argument, a file or a
variable cannot be used.)";

int runPreflight(const PreflightArguments& options) {
  const Settings settings = readSettings();
  const JobRequest job = readJob(options.job, settings);
  const plan::PlanRequest& request = job.plan;
  std::optional<Progress> progress(fmt::format("planning {}", jobName(options.job)));
  const plan::Plan plan = plan::planJob(request, settings);
  preflight::Preflight result = preflight::preflight(plan);
  if (result.disagrees()) result.remedies = preflight::findRemedies(request, settings, plan);
  progress.reset();
  if (options.json)
    writeJson(toJson(plan, result));
  else
    writeOut(preflightText(plan, result, terminalOf(stdout)) +
             conditionsText(plan, job.assumptions, terminalOf(stdout)));
  return result.isFine() ? kOk : kFailed;
}

}  // namespace

void addPreflight(CommandLine& line) {
  const auto options = std::make_shared<PreflightArguments>();
  Command command =
      line.add("preflight", "would the ranks of a job of different hosts agree, or hang; and what avoids it");
  addJobOptions(command, options->job);
  command.flag("--json", options->json, "print JSON");
  command.footer(kPreflightExamples);
  command.action([options] { return runPreflight(*options); });
}

}  // namespace xylem::cli
