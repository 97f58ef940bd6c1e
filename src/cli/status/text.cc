#include "cli/status/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/table.h"

namespace xylem::cli {

using comm::SeenJob;
using comm::SeenRank;

namespace {

// The state in a word. A stopped process has the records of its last state, which would mislead: "stopped"
// comes first.
Cell stateOf(const SeenRank& rank) {
  if (rank.stopped) return {"stopped", Style::kRed};
  if (rank.log.failed) return {"failed", Style::kRed};
  if (rank.log.joining) return {"joins", rank.stuck() ? Style::kYellow : Style::kGreen};
  if (rank.stuck()) return {"waits", Style::kYellow};
  const comm::CallRecord* current = rank.current();
  if (current == nullptr) return {"idle", Style::kDim};
  return {current->state == comm::CallState::kStarted ? "runs" : "queued", Style::kGreen};
}

// How data moves within the rank's host: what was chosen, with the reason, and what has changed since.
std::pair<std::string, std::string> copiesOf(const SeenRank& rank) {
  const std::string_view text = rank.log.copies, since = comm::kSinceThen;
  const std::size_t reason = std::min(text.find(" ("), text.size()), at = text.substr(0, reason).find(since);
  if (at == std::string_view::npos) return {std::string(text), {}};
  const std::size_t changed = at + since.size();
  return {fmt::format("{}{}", text.substr(0, at), text.substr(reason)),
          std::string(text.substr(changed, reason - changed))};
}

std::string waitText(const SeenRank& rank) {
  if (!rank.stuck() || (rank.log.waitsFor < 0 && !rank.log.joining)) return "-";
  return fmt::format("{} for {:.1f} s",
                     rank.log.waitsFor < 0 ? "others" : fmt::format("rank {}", rank.log.waitsFor),
                     static_cast<double>(rank.waitNanoseconds()) / 1e9);
}

std::string entryText(const SeenRank& rank, const comm::CallRecord& entry) {
  comm::TextLine line;
  comm::describe(line, entry, rank.clock);
  return std::string(line.text());
}

// The last calls, newest first, and the current one even if it is older.
std::vector<std::string> callsText(const SeenRank& rank, std::size_t calls) {
  if (rank.log.joining)
    return {rank.log.joinsAt.empty() ? "joining" : fmt::format("joining: {}", rank.log.joinsAt)};
  std::vector<std::string> lines;
  const comm::CallRecord* current = rank.current();
  const auto& entries = rank.log.entries;
  const std::size_t first = entries.size() - std::min(calls, entries.size());
  for (std::size_t i = entries.size(); i-- > first;) lines.push_back(entryText(rank, entries[i]));
  const bool shown = current == nullptr ||
                     std::any_of(entries.begin() + static_cast<std::ptrdiff_t>(first), entries.end(),
                                 [&](const comm::CallRecord& e) { return e.number == current->number; });
  if (!shown) lines.push_back(entryText(rank, *current));
  if (lines.empty()) lines.emplace_back("none so far");
  return lines;
}

nlohmann::ordered_json entryJson(const SeenRank& rank, const comm::CallRecord& entry) {
  nlohmann::ordered_json out = {{"number", entry.number},
                                {"function", name(entry.call.function)},
                                {"count", entry.call.count},
                                {"type", std::string(xylem::name(entry.call.type))}};
  switch (entry.call.function) {
    case Function::kSend:
    case Function::kRecv:
      out["peer"] = entry.call.peer;
      break;
    case Function::kBroadcast:
    case Function::kReduce:
      out["root"] = entry.call.peer;
      [[fallthrough]];
    default:
      out["collective"] = entry.ordinal;
      break;
  }
  if (reduces(entry.call.function)) {
    out["op"] = std::string(xylem::name(entry.call.op));
    out["scaled"] = entry.call.scaled;
  }
  if (entry.way && entry.way->direct) {
    out["algorithm"] = "Direct";
  } else if (entry.way) {
    out["algorithm"] = xylem::name(entry.way->algorithm);
    out["protocol"] = xylem::name(entry.way->protocol);
    out["channels"] = entry.way->channels;
  }
  out["group"] = entry.launch;
  out["send"] = fmt::format("{:#x}", entry.send);
  out["receive"] = fmt::format("{:#x}", entry.receive);
  out["stream"] = fmt::format("{:#x}", entry.stream);
  out["state"] = xylem::comm::name(entry.state);
  const auto ago = [&](const char* key, std::uint64_t ticks) {
    if (ticks != 0) out[key] = static_cast<double>(rank.clock.nanosecondsSince(ticks)) / 1e9;
  };
  ago("issued_seconds_ago", entry.issued);
  ago("started_seconds_ago", entry.started);
  ago("finished_seconds_ago", entry.finished);
  return out;
}

nlohmann::ordered_json rankJson(const SeenRank& rank, std::size_t calls) {
  nlohmann::ordered_json out = {{"rank", rank.log.rank},     {"pid", rank.pid},
                                {"program", rank.program},   {"host", rank.host},
                                {"device", rank.log.device}, {"state", stateOf(rank).text},
                                {"calls", rank.log.issued}};
  if (rank.log.failed) out["failure"] = rank.log.reason;
  const auto [chosen, changed] = copiesOf(rank);
  if (!chosen.empty()) out["copies"] = chosen;
  if (!changed.empty()) out["copies_since"] = changed;
  if (rank.log.joining) out["joins_at"] = rank.log.joinsAt;
  if (rank.log.wait != comm::WaitKind::kNone) {
    out["waits_for"] = rank.log.waitsFor;
    out["waits_seconds"] = static_cast<double>(rank.waitNanoseconds()) / 1e9;
  }
  if (const comm::CallRecord* current = rank.current()) out["current"] = entryJson(rank, *current);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto& entries = rank.log.entries;
  for (std::size_t i = entries.size() - std::min(calls, entries.size()); i < entries.size(); ++i)
    list.push_back(entryJson(rank, entries[i]));
  out["last_calls"] = std::move(list);
  return out;
}

}  // namespace

std::string statusText(const SeenJob& job, const std::vector<Finding>& findings, std::size_t calls,
                       const Terminal& screen) {
  std::string text = fmt::format("Communicator {:#x}, {} {}", job.communicator, job.ranks,
                                 job.ranks == 1 ? "rank" : "ranks");
  text += static_cast<std::size_t>(job.ranks) == job.seen.size()
              ? "\n"
              : fmt::format(", {} of them seen here\n", job.seen.size());
  Table table({{"rank", Align::kRight},
               {"process"},
               {"host"},
               {"state"},
               {"calls", Align::kRight},
               {"waits for"},
               {"last calls, newest first"}});
  for (const SeenRank& rank : job.seen) {
    const std::vector<std::string> lines = callsText(rank, calls);
    table.add({{std::to_string(rank.log.rank), Style::kBold},
               {fmt::format("{} {}", rank.pid, rank.program)},
               {rank.host},
               stateOf(rank),
               {std::to_string(rank.log.issued)},
               {waitText(rank)},
               {lines.front()}});
    for (std::size_t i = 1; i < lines.size(); ++i)
      table.add({{""}, {""}, {""}, {""}, {""}, {""}, {lines[i], Style::kDim}});
  }
  text += table.text(screen, 2);
  // Ranks of a host have the same.
  std::set<std::pair<std::string, std::string>> copies;
  Table notes({{""}});
  for (const SeenRank& rank : job.seen)
    if (const auto [chosen, changed] = copiesOf(rank);
        !chosen.empty() && copies.insert({rank.host, chosen}).second)
      notes.add({{fmt::format("copies within {}: {}", rank.host, chosen), Style::kDim}});
  // A rank knows what has changed where it decides.
  for (const SeenRank& rank : job.seen)
    if (const auto [chosen, changed] = copiesOf(rank); !changed.empty())
      notes.add({{fmt::format("since then, by rank {}: {}", rank.log.rank, changed), Style::kDim}});
  if (!notes.empty()) text += notes.text(screen, 2);
  for (const Finding& finding : findings) text += fmt::format("  => {}\n", finding.text);
  if (findings.empty()) text += "  => nothing is stuck\n";
  return text;
}

nlohmann::ordered_json toJson(const SeenJob& job, const std::vector<Finding>& findings, std::size_t calls) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const SeenRank& rank : job.seen) ranks.push_back(rankJson(rank, calls));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    list.push_back({{"kind", name(finding.kind)}, {"ranks", finding.ranks}, {"text", finding.text}});
  return {{"communicator", fmt::format("{:#x}", job.communicator)},
          {"nranks", job.ranks},
          {"ranks", std::move(ranks)},
          {"findings", std::move(list)}};
}

}  // namespace xylem::cli
