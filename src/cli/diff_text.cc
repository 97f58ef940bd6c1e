#include "cli/diff_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/machine_words.h"
#include "cli/table.h"

namespace xylem::cli {
namespace {

// Of a section, and of the things of one change, unless all are wanted.
constexpr std::size_t kMostChanges = 12;
constexpr std::size_t kMostThings = 4;
constexpr const char* kThere = "there";

// "GPU pairs, one way" of "GPU pair, one way".
std::string plural(const std::string& kind) {
  const std::size_t end = std::min(kind.find(','), kind.size());
  return kind.substr(0, end) + (end > 0 && kind[end - 1] == 's' ? "" : "s") + kind.substr(end);
}

// Pairs, links and the like go by their ends.
bool namedByEnds(const std::string& kind) {
  return kind.find("pair") != std::string::npos || kind.starts_with("link") || kind == "ring end";
}

std::string linesText(const ChangedThing& thing) {
  if (thing.lineA > 0 && thing.lineB > 0) return fmt::format("A:{} B:{}", thing.lineA, thing.lineB);
  if (thing.lineA > 0) return fmt::format("A:{}", thing.lineA);
  return thing.lineB > 0 ? fmt::format("B:{}", thing.lineB) : "";
}

class ChangeText {
 public:
  ChangeText(const Change& change, const DiffView& view, const Terminal& screen)
      : change_(change), view_(view), screen_(screen) {}

  std::string text() const {
    std::string text = "  " + (change_.where.empty() ? "" : change_.where + ": ") + subject() + outcome();
    if (change_.things.size() == 1 && !linesText(change_.things[0]).empty())
      text += "  " + screen_.paint(Style::kDim, linesText(change_.things[0]));
    text += '\n';
    if (change_.things.size() > 1) text += "      " + things() + '\n';
    if (!change_.whyBefore.empty())
      text += screen_.paint(Style::kDim, "      A: " + change_.whyBefore) + '\n';
    if (!change_.whyAfter.empty()) text += screen_.paint(Style::kDim, "      B: " + change_.whyAfter) + '\n';
    return text;
  }

 private:
  // "all 28 GPU pairs: direct access", "net mlx5_0: speed", "ring: channels".
  std::string subject() const {
    const auto& things = change_.things;
    std::string who;
    if (things.empty())
      who = change_.kind == "job" || change_.kind == "setting" ? "" : change_.kind;
    else if (things.size() == 1)
      who = single();
    else
      who = many();
    if (change_.what.empty()) return who;
    return who.empty() ? change_.what : who + ": " + change_.what;
  }

  // Labels of nodes say of themselves what they are: "GPU 0".
  std::string single() const {
    const std::string& name = change_.things[0].name;
    if (namedByEnds(change_.kind) || name.starts_with(change_.kind + " ")) return name;
    return name.empty() ? change_.kind : change_.kind + " " + name;
  }

  std::string many() const {
    const auto count = static_cast<int>(change_.things.size());
    if (change_.outOf == count) return fmt::format("all {} {}", count, plural(change_.kind));
    const std::string of = change_.outOf > count ? fmt::format(" of {}", change_.outOf) : "";
    return fmt::format("{}{} {}", count, of, plural(change_.kind));
  }

  std::string outcome() const {
    if (change_.after.empty() && change_.before.starts_with(kThere))
      return ": " + screen_.paint(Style::kRed, "gone" + change_.before.substr(std::string(kThere).size()));
    if (change_.before.empty() && change_.after.starts_with(kThere))
      return ": " + screen_.paint(Style::kGreen, "new" + change_.after.substr(std::string(kThere).size()));
    if (change_.before.empty() && change_.what == "neighbours in the trees")
      return " " + screen_.paint(Style::kGreen, change_.after);
    const auto side = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
    const bool lists = change_.before.size() > 40;
    return fmt::format("{}{}{}->{}{}", change_.what.empty() || lists ? (lists ? ":\n      " : ": ") : " ",
                       screen_.paint(Style::kRed, side(change_.before)), lists ? "\n   " : " ", " ",
                       screen_.paint(Style::kGreen, side(change_.after)));
  }

  std::string things() const {
    const std::size_t shown =
        view_.all ? change_.things.size() : std::min(change_.things.size(), kMostThings);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
      const ChangedThing& thing = change_.things[i];
      const std::string lines = linesText(thing);
      text += (i > 0 ? ", " : "") + thing.name;
      if (!lines.empty()) text += " " + screen_.paint(Style::kDim, "(" + lines + ")");
    }
    if (shown < change_.things.size()) text += fmt::format(", and {} more", change_.things.size() - shown);
    return text;
  }

  const Change& change_;
  const DiffView& view_;
  const Terminal& screen_;
};

std::string heading(const Terminal& screen, const std::string& text) {
  return '\n' + screen.paint(Style::kBold, text) + '\n';
}

std::string section(const char* title, const Changes& changes, const DiffView& view, const Terminal& screen) {
  if (changes.empty()) return "";
  const std::size_t shown = view.all ? changes.size() : std::min(changes.size(), kMostChanges);
  std::string text = heading(screen, title);
  for (std::size_t i = 0; i < shown; ++i) text += ChangeText(changes[i], view, screen).text();
  if (shown < changes.size()) text += fmt::format("  and {} more (--all)\n", changes.size() - shown);
  return text;
}

std::string sizeText(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

Cell ratioCell(const ChoiceChange& change) {
  if (change.mostRatio == 0) return {"?"};
  const std::string least = fmt::format("{:.2f}", change.leastRatio);
  const std::string most = fmt::format("{:.2f}", change.mostRatio);
  const Style style = change.leastRatio > 1  ? Style::kRed
                      : change.mostRatio < 1 ? Style::kGreen
                                             : Style::kPlain;
  return {least == most ? least : least + " to " + most, style};
}

std::string choicesText(const std::vector<ChoiceChange>& choices, const Terminal& screen) {
  if (choices.empty()) return "";
  Table table({{"collective"}, {"bytes"}, {"A"}, {"B"}, {"time, B by A"}});
  for (const ChoiceChange& change : choices) {
    const std::string to = change.toBytes == change.fromBytes ? "" : " to " + sizeText(change.toBytes);
    const auto side = [](const std::string& candidate) { return candidate.empty() ? "none" : candidate; };
    table.add({{change.collective},
               {sizeText(change.fromBytes) + to},
               {side(change.before), Style::kRed},
               change.after == change.before ? Cell{"the same", Style::kDim}
                                             : Cell{side(change.after), Style::kGreen},
               ratioCell(change)});
  }
  return heading(screen, "Choices: algorithm, protocol and predicted time") + table.text(screen, 2);
}

std::string sideText(const char* side, const PlanFacts& facts, Style style, const Terminal& screen) {
  const std::string hosts = facts.hostCount > 0 ? " on " + counted(facts.hostCount, "host") : "";
  return fmt::format("{}  {}: {}{}\n", screen.paint(style, side), facts.title, counted(facts.ranks, "rank"),
                     hosts);
}

std::string verdict(const PlanDiff& diff) {
  if (!diff.samePlan()) return "";
  return diff.sameCauses() ? "\nNothing differs.\n" : "\nThe plan is the same.\n";
}

}  // namespace

std::string diffText(const PlanDiff& diff, const PlanFacts& a, const PlanFacts& b, const DiffView& view,
                     const Terminal& screen) {
  std::string text = sideText("A", a, Style::kRed, screen) + sideText("B", b, Style::kGreen, screen);
  text += section("What was asked", diff.asked, view, screen);
  text += section("Machine", diff.machine, view, screen);
  text += section("Order in the description", diff.order, view, screen);
  for (const std::string& remark : diff.remarks) text += "  " + screen.paint(Style::kYellow, remark) + '\n';
  text += section("Links, GB/s", diff.links, view, screen);
  text += section("Ranks", diff.ranks, view, screen);
  text += section("Paths, GB/s", diff.paths, view, screen);
  text += section("Decisions", diff.decisions, view, screen);
  text += section("Channels of a host", diff.channels, view, screen);
  text += section("Connections of the job", diff.connections, view, screen);
  text += choicesText(diff.choices, screen);
  return text + verdict(diff);
}

}  // namespace xylem::cli
