#include "cli/insight/diff_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "cli/number_text.h"
#include "cli/table.h"

namespace xylem::cli {
namespace {

// Without --all, more changes of one kind in a section, and more things of one change, are left out.
constexpr std::size_t kMaxAlike = 6;
constexpr std::size_t kMaxThings = 4;
// Longer values stand on lines of their own.
constexpr std::size_t kLongSide = 40;
constexpr const char* kThere = "there";

// Turns "GPU pair, one way" into "GPU pairs, one way".
std::string pluralOf(const std::string& kind) {
  const std::size_t end = std::min(kind.find(','), kind.size());
  return kind.substr(0, end) + (end > 0 && kind[end - 1] == 's' ? "" : "s") + kind.substr(end);
}

// True if the names of such things tell their kind, as "GPU 0 - GPU 1" of a pair does.
bool namedByEnds(const std::string& kind) {
  return kind.find("pair") != std::string::npos || kind.starts_with("link") || kind == "ring end";
}

std::string linesText(const diff::ChangedThing& thing) {
  if (thing.lineA > 0 && thing.lineB > 0) return fmt::format("A:{} B:{}", thing.lineA, thing.lineB);
  if (thing.lineA > 0) return fmt::format("A:{}", thing.lineA);
  return thing.lineB > 0 ? fmt::format("B:{}", thing.lineB) : "";
}

bool isLong(const std::string& before, const std::string& after) {
  return before.size() > kLongSide || after.size() > kLongSide;
}

// "before -> after", one below the other if they are long.
std::string transition(const std::string& before, const std::string& after, const Terminal& screen) {
  const auto side = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
  const bool lists = isLong(before, after);
  return fmt::format("{}{}{}-> {}", lists ? "\n         " : "", screen.paint(Style::kRed, side(before)),
                     lists ? "\n      " : " ", screen.paint(Style::kGreen, side(after)));
}

class ChangeText {
 public:
  ChangeText(const diff::Change& change, const DiffView& view, const Terminal& screen)
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
    if (change_.what.empty() || change_.what == "place") return who;
    return who.empty() ? change_.what : who + ": " + change_.what;
  }

  // Leaves out the kind if the name has it: "GPU 0".
  std::string single() const {
    const std::string& name = change_.things[0].name;
    if (namedByEnds(change_.kind) || name.starts_with(change_.kind + " ")) return name;
    return name.empty() ? change_.kind : change_.kind + " " + name;
  }

  std::string many() const {
    const auto count = static_cast<int>(change_.things.size());
    if (change_.outOf == count && count == 2) return "both " + pluralOf(change_.kind);
    if (change_.outOf == count) return fmt::format("all {} {}", count, pluralOf(change_.kind));
    const std::string of = change_.outOf > count ? fmt::format(" of {}", change_.outOf) : "";
    return fmt::format("{}{} {}", count, of, pluralOf(change_.kind));
  }

  std::string outcome() const {
    const auto& [before, after] = std::tie(change_.before, change_.after);
    const std::string each = change_.things.size() > 1 ? ", each" : ",";
    if (after.empty() && before.starts_with(kThere))
      return ": " + screen_.paint(Style::kRed, presence("gone", before, each));
    if (before.empty() && after.starts_with(kThere))
      return ": " + screen_.paint(Style::kGreen, presence("new", after, each));
    if (change_.what == "place")
      return fmt::format(": moved from {} to {}", screen_.paint(Style::kRed, before),
                         screen_.paint(Style::kGreen, after));
    if (before.empty() && change_.kind == "rank") return ": " + screen_.paint(Style::kGreen, after);
    return separator() + transition(before, after, screen_);
  }

  // Turns "there, with 2 elements inside" into "gone, with 2 elements inside".
  static std::string presence(const char* word, const std::string& text, const std::string& each) {
    const std::size_t comma = text.find(',');
    return comma == std::string::npos ? word : word + each + text.substr(comma + 1);
  }

  const char* separator() const {
    const bool sentence = change_.what.empty() || change_.things.empty() ||
                          change_.kind.find("pair") != std::string::npos || change_.what.starts_with("order");
    if (isLong(change_.before, change_.after)) return ":";
    return sentence ? ": " : " ";
  }

  std::string things() const {
    const std::size_t shown = view_.all ? change_.things.size() : std::min(change_.things.size(), kMaxThings);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
      const diff::ChangedThing& thing = change_.things[i];
      const std::string lines = linesText(thing);
      text += (i > 0 ? ", " : "") + thing.name;
      if (!lines.empty()) text += " " + screen_.paint(Style::kDim, "(" + lines + ")");
    }
    if (shown < change_.things.size()) text += fmt::format(", and {} more", change_.things.size() - shown);
    return text;
  }

  const diff::Change& change_;
  const DiffView& view_;
  const Terminal& screen_;
};

// Several values of one graph, in one line.
std::string valuesText(std::span<const diff::Change> changes, const Terminal& screen) {
  std::vector<std::string> parts;
  for (const diff::Change& change : changes)
    parts.push_back(fmt::format("{} {}", change.what, transition(change.before, change.after, screen)));
  const std::string where = changes[0].where.empty() ? "" : changes[0].where + ": ";
  return fmt::format("  {}{}: {}\n", where, changes[0].kind, fmt::join(parts, ", "));
}

bool isValueOfGraph(const diff::Change& change) {
  return change.things.empty() && !change.what.empty() && change.kind != "job" && change.kind != "setting";
}

// The changes of a section. Values of one graph are joined in a line; of changes of one kind, only the first
// are shown.
std::string section(const char* title, const diff::Changes& changes, const DiffView& view,
                    const Terminal& screen) {
  if (changes.empty()) return "";
  std::string text = screen.heading(title);
  std::map<std::string, std::size_t> shown;  // how many changes, by kind and value
  std::size_t cut = 0;
  for (std::size_t i = 0; i < changes.size();) {
    std::size_t end = i + 1;
    if (isValueOfGraph(changes[i])) {
      while (end < changes.size() && isValueOfGraph(changes[end]) && changes[end].kind == changes[i].kind &&
             changes[end].where == changes[i].where)
        ++end;
      text += valuesText(std::span(changes).subspan(i, end - i), screen);
    } else if (view.all || changes[i].things.empty() ||
               ++shown[changes[i].kind + changes[i].what] <= kMaxAlike) {
      text += ChangeText(changes[i], view, screen).text();
    } else {
      ++cut;
    }
    i = end;
  }
  if (cut > 0) text += fmt::format("  and {} more (--all)\n", cut);
  return text;
}

Cell ratioCell(const diff::ChoiceChange& change) {
  if (change.maxRatio == 0) return {"?"};
  const std::string least = fmt::format("{:.2f}", change.minRatio);
  const std::string most = fmt::format("{:.2f}", change.maxRatio);
  const Style style = change.minRatio > 1 ? Style::kRed : change.maxRatio < 1 ? Style::kGreen : Style::kPlain;
  return {least == most ? least : least + " to " + most, style};
}

// By the first collective of each set with the same changes: the names of all in the set.
std::map<std::string, std::string> sameCollectives(const std::vector<diff::ChoiceChange>& choices) {
  std::map<std::string, std::string> changesOf;
  std::vector<std::string> order;
  for (const diff::ChoiceChange& change : choices) {
    if (!changesOf.contains(change.collective)) order.push_back(change.collective);
    changesOf[change.collective] += fmt::format("{} {} {} {} {} ", change.fromBytes, change.toBytes,
                                                change.before, change.after, ratioCell(change).text);
  }
  std::map<std::string, std::string> firstWith;
  std::map<std::string, std::string> names;
  for (const std::string& collective : order) {
    const auto [first, isNew] = firstWith.emplace(changesOf[collective], collective);
    std::string& name = names[first->second];
    name += (isNew ? "" : ", ") + collective;
  }
  return names;
}

std::string choicesText(const std::vector<diff::ChoiceChange>& choices, const Terminal& screen) {
  if (choices.empty()) return "";
  const auto names = sameCollectives(choices);
  const auto side = [](const std::string& candidate) { return candidate.empty() ? "none" : candidate; };
  Table table({{"collective"}, {"bytes"}, {"A"}, {"B"}, {"time, B by A"}});
  std::string previous;
  for (const diff::ChoiceChange& change : choices) {
    const auto name = names.find(change.collective);
    if (name == names.end()) continue;
    const std::string to = change.toBytes == change.fromBytes ? "" : " to " + sizeText(change.toBytes);
    table.add({{change.collective == previous ? "" : name->second},
               {sizeText(change.fromBytes) + to},
               {side(change.before), Style::kRed},
               change.after == change.before ? Cell{"the same", Style::kDim}
                                             : Cell{side(change.after), Style::kGreen},
               ratioCell(change)});
    previous = change.collective;
  }
  return screen.heading("Choices: algorithm, protocol and predicted time") + table.text(screen, 2);
}

std::string sideText(const char* side, const diff::PlanFacts& facts, Style style, const Terminal& screen) {
  const std::string hosts = facts.hostCount > 0 ? " on " + counted(facts.hostCount, "host") : "";
  return fmt::format("{}  {}: {}{}, planned as NCCL {}\n", screen.paint(style, side), facts.title,
                     counted(facts.ranks, "rank"), hosts, facts.nccl);
}

// A predicted time that changes by a smaller share counts as unchanged.
constexpr double kUnchanged = 0.005;

// The meaning of the differences for the predicted times, in one sentence.
std::string verdict(const diff::PlanDiff& diff) {
  if (diff.samePlan() && diff.sameCauses())
    return diff.names.empty() ? "Nothing differs." : "Nothing differs but the names of devices.";
  if (diff.samePlan()) return "The plan is the same.";
  double slowest = 1;
  double fastest = 1;
  std::vector<std::string> refused;
  for (const diff::ChoiceChange& change : diff.choices) {
    if (change.after.empty() && (refused.empty() || refused.back() != change.collective))
      refused.push_back(change.collective);
    if (change.maxRatio == 0) continue;
    slowest = std::max(slowest, change.maxRatio);
    fastest = std::min(fastest, change.minRatio);
  }
  const std::string lost =
      refused.empty() ? "" : fmt::format("; it cannot run {} of some sizes", fmt::join(refused, ", "));
  const bool slower = slowest > 1 + kUnchanged;
  const bool faster = fastest < 1 - kUnchanged;
  std::string text;
  if (faster) text += fmt::format("is up to {:.2f} times as fast as A", 1 / fastest);
  if (faster && slower) text += ", and elsewhere ";
  if (slower) text += fmt::format("takes up to {:.2f} times as long{}", slowest, faster ? "" : " as A");
  return text.empty() ? fmt::format("The plans differ; by NCCL's model no time changes{}.", lost)
                      : fmt::format("The plans differ: by NCCL's model B {}{}.", text, lost);
}

}  // namespace

std::string diffText(const diff::PlanDiff& diff, const diff::PlanFacts& a, const diff::PlanFacts& b,
                     const DiffView& view, const Terminal& screen) {
  std::string text = screen.paint(Style::kBold, verdict(diff)) + '\n';
  text += sideText("A", a, Style::kRed, screen) + sideText("B", b, Style::kGreen, screen);
  for (const auto& setting : a.settings)
    if (std::ranges::find(b.settings, setting) != b.settings.end())
      text += fmt::format("set: {}={}\n", setting.first, setting.second);
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
  return text + choicesText(diff.choices, screen);
}

}  // namespace xylem::cli
