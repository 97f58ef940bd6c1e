#include "cli/insight/preflight_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/host_kinds.h"
#include "cli/machine_words.h"
#include "cli/number_list.h"
#include "cli/insight/preflight_words.h"
#include "cli/table.h"

namespace xylem::cli {
namespace {

// More kinds than this stand in one column, those together that have the same.
constexpr std::size_t kMostKindColumns = 4;
constexpr std::size_t kMostNames = 3;  // in it, with the same value
constexpr std::size_t kMostKindsListed = 24;
constexpr std::size_t kMostChannelRanges = 4;       // of hosts and of ranks
constexpr std::size_t kMostMismatches = 24;  // lines
// A predicted time that changes by less is called the same.
constexpr double kSameTime = 0.005;
constexpr double kManyTimes = 9;  // from ten times on not in percent

using Kinds = std::vector<HostKind>;

// One sentence per line, wrapped on a terminal.
class Sentences {
 public:
  void add(const std::string& text) {
    if (!text.empty()) table_.add({{text}});
  }
  std::string text(const Terminal& screen) const { return table_.text(screen, 2); }

 private:
  Table table_{{{""}}};
};

// Columns with a value per kind.
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
      for (std::size_t other = i; other < values.size() && named < kMostNames; ++other)
        if (values[other] == values[i]) {
          text += ' ' + kinds_[other].name;
          ++named;
        }
      if (count > named) text += fmt::format(" and {} more", count - named);
    }
    row.push_back({text, style});
  }

 private:
  bool together() const { return kinds_.size() > kMostKindColumns; }
  const Kinds& kinds_;
};

std::string namesOfKinds(const Plan& plan, const Kinds& kinds, const Terminal& screen) {
  Table table({{"kind"}, {"hosts"}, {"ranks"}, {"a host has"}});
  for (std::size_t view = 0; view < kinds.size() && view < kMostKindsListed; ++view)
    table.add({{kinds[view].name, Style::kBold},
               {listText(kinds[view].hosts, kMostChannelRanges)},
               {listText(kinds[view].ranks, kMostChannelRanges)},
               {fmt::format("{}, {}", counted(plan.hostPlans[view]->system().count(NodeType::kGpu), "GPU"),
                            smText(*plan.hostPlans[view]))}});
  std::string text = screen.heading("Kinds of hosts") + table.text(screen, 2);
  if (kinds.size() > kMostKindsListed)
    text += fmt::format("  and {} more (--json has all)\n", kinds.size() - kMostKindsListed);
  return text;
}

// Mismatches that follow each other with the same algorithms and protocols.
struct ChannelStretch {
  const CollectiveMismatch* begin;
  std::uint64_t last;
  std::vector<std::pair<int, int>> channels;  // by view, the fewest and the most
};

bool sameButBlocks(const CollectiveMismatch& a, const CollectiveMismatch& b) {
  return a.collective == b.collective && a.operands == b.operands &&
         std::equal(a.byView.begin(), a.byView.end(), b.byView.begin(), [](const Pick& x, const Pick& y) {
           return x.runs == y.runs && x.algorithm == y.algorithm && x.protocol == y.protocol;
         });
}

std::vector<ChannelStretch> stretches(const std::vector<CollectiveMismatch>& mismatches) {
  std::vector<ChannelStretch> all;
  for (const CollectiveMismatch& mismatch : mismatches) {
    if (all.empty() || all.back().last + 1 != mismatch.first || !sameButBlocks(*all.back().begin, mismatch)) {
      all.push_back({&mismatch, mismatch.last, {}});
      for (const Pick& pick : mismatch.byView) all.back().channels.emplace_back(pick.channels, pick.channels);
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
  const std::vector<Pick>& picks = stretch.begin->byView;
  const bool onlyBlocks = std::all_of(picks.begin(), picks.end(), [&](const Pick& pick) {
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
  return last >= kMostBytes ? fmt::format("{}-", first) : fmt::format("{}-{}", first, last);
}

bool differInChannels(const TransferMismatch& mismatch) {
  return std::any_of(mismatch.byView.begin(), mismatch.byView.end(), [&](const TransferSplit& split) {
    return split.channels != mismatch.byView.front().channels;
  });
}

std::string mismatchesText(const Preflight& result, const Kinds& kinds, const Terminal& screen) {
  const ByKind byKind(kinds);
  std::vector<Column> columns = {{"operation"}, {"size"}, {"exact bytes"}};
  byKind.addColumns(columns);
  Table table(columns);
  std::size_t lines = 0;
  const auto add = [&](const std::string& what, std::uint64_t first, std::uint64_t last,
                       const std::vector<std::string>& values) {
    if (++lines > kMostMismatches) return;
    std::vector<Cell> row = {
        {what, Style::kBold}, {sizesText(first, last, kMostBytes)}, {bytesText(first, last), Style::kDim}};
    byKind.addCells(row, values, Style::kRed);
    table.add(std::move(row));
  };
  for (const ChannelStretch& stretch : stretches(result.collectives)) {
    std::string what = name(stretch.begin->collective);
    if (stretch.begin->operands != Operands::kSum) what += fmt::format(", {}", name(stretch.begin->operands));
    add(what, stretch.begin->first, stretch.last, picksText(stretch));
  }
  for (std::size_t i = 0; i < result.transfers.size(); ++i) {
    const TransferMismatch& mismatch = result.transfers[i];
    std::vector<std::string> values;
    std::uint64_t last = mismatch.last;
    if (differInChannels(mismatch)) {
      // The parts do not matter then.
      last = result.transfers.back().last;
      i = result.transfers.size();
      for (const TransferSplit& split : mismatch.byView)
        values.push_back("over " + counted(split.channels, "channel"));
    } else {
      for (const TransferSplit& split : mismatch.byView)
        values.push_back(fmt::format("{}, {}", name(split.protocol), counted(split.parts, "part")));
    }
    add("Send/Receive", mismatch.first, last, values);
  }
  if (table.empty()) return "";
  std::string text = screen.heading("What ranks would do differently") + table.text(screen, 2);
  if (lines > kMostMismatches)
    text += fmt::format("  and {} more (--json has all)\n", lines - kMostMismatches);
  return text;
}

std::string setupText(const Preflight& result, const Terminal& screen) {
  if (result.setup.empty()) return "";
  std::string text = screen.heading("Connecting would not end");
  Sentences sentences;
  for (Setup setup : result.setup) sentences.add(explain(setup));
  return text + sentences.text(screen);
}

std::string reachOf(const Cause& cause) {
  std::string text = cause.setup ? "connecting" : "";
  for (Collective collective : cause.collectives)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name(collective));
  if (cause.transfers) text += fmt::format("{}Send/Receive", text.empty() ? "" : ", ");
  return text.empty() ? "nothing: harmless here" : text;
}

std::string causesText(const Preflight& result, const Kinds& kinds, const Terminal& screen) {
  if (result.causes.empty()) return "";
  const ByKind byKind(kinds);
  std::vector<Column> columns = {{"value"}};
  byKind.addColumns(columns);
  columns.push_back({"changes"});
  Table table(columns);
  Sentences sentences;
  for (const Cause& cause : result.causes) {
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

std::string costsText(const RemedySearch& search, const Terminal& screen) {
  std::vector<Column> columns = {{"operation"}, {"size", Align::kRight}, {"us as it is", Align::kRight}};
  for (std::size_t i = 0; i < search.found.size(); ++i)
    columns.push_back({search.found.size() == 1 ? "with it" : fmt::format("with {}", i + 1), Align::kRight});
  Table table(columns);
  const std::vector<std::uint64_t> sizes = costSizes();
  for (Collective collective : kAllCollectives)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const float before = search.now[collective][i];
      std::vector<Cell> row = {
          {name(collective), Style::kBold}, {byteText(sizes[i])}, {fmt::format("{:.1f}", before)}};
      bool changes = false;
      for (const Remedy& remedy : search.found) {
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

std::string remediesText(const RemedySearch& search, const Terminal& screen) {
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

std::string nicsText(const Plan& plan, const Preflight& result, const Kinds& kinds, const Terminal& screen) {
  if (!result.lacksNics()) return "";
  std::string text = screen.heading("Without a usable NIC");
  for (std::size_t view = 0; view < kinds.size(); ++view) {
    if (result.endsWithoutNic[view] == 0) continue;
    const bool any = plan.hostPlans[view]->system().count(NodeType::kNet) > 0;
    text += fmt::format("  {}, hosts {}, ranks {}: {}\n", screen.paint(Style::kRed, kinds[view].name),
                        listText(kinds[view].hosts, kMostChannelRanges), listText(kinds[view].ranks, kMostChannelRanges),
                        any ? "GPUs at the ends of the rings reach none of the NICs"
                            : "the description has no NIC, so the rings cannot leave the host");
  }
  return text;
}

std::string remarksText(const Preflight& result, const Kinds& kinds, const Terminal& screen) {
  if (result.remarks.empty()) return "";
  const ByKind byKind(kinds);
  std::vector<Column> columns = {{""}};
  byKind.addColumns(columns);
  columns.push_back({"the job"});
  Table table(columns);
  Sentences sentences;
  for (const Remark& remark : result.remarks) {
    std::vector<Cell> row = {{remarkName(remark.what), Style::kBold}};
    byKind.addCells(row, remark.byView, Style::kPlain);
    row.push_back({remark.job});
    table.add(std::move(row));
    sentences.add(remarkMeaning(remark));
  }
  return screen.heading("Also different, which hangs nothing") + table.text(screen, 2) +
         sentences.text(screen);
}

std::string verdict(const Plan& plan, const Preflight& result, const Terminal& screen) {
  const Job& job = plan.job();
  std::string text = fmt::format("{} on {}: ", counted(job.ranks(), "rank"), counted(job.hosts(), "host"));
  if (result.disagrees())
    return text + screen.paint(Style::kRed, "this job would hang under NCCL 2.25") + '\n';
  if (result.lacksNics()) return text + screen.paint(Style::kRed, "this job cannot connect its hosts") + '\n';
  if (plan.connections.options.rules == Rules::kXylem)
    return text + screen.paint(Style::kGreen, "all ranks agree, by Xylem's rules") + '\n';
  return text + screen.paint(Style::kGreen, "all ranks decide alike") + '\n';
}

}  // namespace

std::string preflightText(const Plan& plan, const Preflight& result, const Terminal& screen) {
  const Kinds kinds = hostKinds(plan);
  std::string text = verdict(plan, result, screen) + namesOfKinds(plan, kinds, screen);
  text += setupText(result, screen) + mismatchesText(result, kinds, screen);
  text += causesText(result, kinds, screen);
  if (result.disagrees()) text += remediesText(result.remedies, screen);
  return text + nicsText(plan, result, kinds, screen) + remarksText(result, kinds, screen);
}

}  // namespace xylem::cli
