#include "comparison/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/number_text.h"
#include "cli/table.h"

namespace xylem::bench {
namespace {

using cli::Align;
using cli::Cell;
using cli::Style;
using cli::Table;

std::string number(double x) {
  if (x < 10) return fmt::format("{:.2f}", x);
  if (x < 100) return fmt::format("{:.1f}", x);
  return fmt::format("{:.0f}", x);
}

// Microseconds, back to back and each after a barrier, with marks: * if fewer than half of the rounds had the machine in its usual state; ! if the
// result is wrong.
Cell timeCell(const Measured* m) {
  if (m == nullptr) return {"-"};
  const bool unsteady = m->time.used * 2 < m->time.total;
  const bool wrong = m->wrong.value_or(0) > 0;
  const std::string apart = m->apart ? "|" + number(m->apart->seconds * 1e6) : "";
  return {number(m->time.seconds * 1e6) + apart +
              (wrong      ? "!"
               : unsteady ? "*"
                          : " "),
          wrong ? Style::kRed : Style::kPlain};
}

// The ratio of times back to back and, if there are such, of those after a barrier.
Cell ratioCell(std::optional<double> ratio, std::optional<double> apart) {
  if (!ratio) return {"-"};
  return {number(*ratio) + (apart ? "|" + number(*apart) : ""),
          *ratio < 1 || apart.value_or(1) < 1 ? Style::kYellow : Style::kGreen};
}

std::vector<std::string> namesOf(const std::vector<Entry>& entries, Role role) {
  std::vector<std::string> names;
  for (const Entry& entry : entries)
    if (entry.role == role) names.push_back(entry.name);
  return names;
}

// The columns of ratios: the best contender of a role, divided by one of Xylem's.
struct RatioColumn {
  Role role;
  std::string ours;
  std::vector<double> all, apart;  // for their means
};

std::vector<RatioColumn> ratioColumns(const std::vector<Entry>& entries) {
  std::vector<RatioColumn> columns;
  for (const Role role : {Role::kPeer, Role::kLimit})
    if (!namesOf(entries, role).empty())
      for (const std::string& ours : namesOf(entries, Role::kOurs)) columns.push_back({role, ours, {}, {}});
  return columns;
}

Table tableFor(const std::vector<Entry>& entries, const std::vector<RatioColumn>& ratios) {
  std::vector<cli::Column> columns{{"size", Align::kRight}, {"line ns", Align::kRight}};
  for (const Role role : {Role::kOurs, Role::kPeer})
    for (const std::string& one : namesOf(entries, role)) columns.push_back({one, Align::kRight});
  if (!namesOf(entries, Role::kLimit).empty()) columns.push_back({"limit", Align::kRight});
  for (const RatioColumn& ratio : ratios)
    columns.push_back({(ratio.role == Role::kPeer ? "peer/" : "limit/") + ratio.ours, Align::kRight});
  return Table(columns);
}

// How far the cores were from each other in these cases, which decides the times of small ones.
std::string distanceText(const std::vector<CaseResult>& results) {
  double low = 0, high = 0;
  for (const CaseResult& result : results) {
    if (result.window.high <= 0) continue;
    low = low == 0 ? result.window.low : std::min(low, result.window.low);
    high = std::max(high, result.window.high);
  }
  return high == 0 ? "" : fmt::format("; a cache line from core to core took {:.0f} to {:.0f} ns", low, high);
}

}  // namespace

std::optional<double> ratio(std::optional<double> other, const Measured* ours) {
  if (!other || ours == nullptr) return std::nullopt;
  return *other / ours->time.seconds;
}

std::optional<double> ratioApart(std::optional<double> other, const Measured* ours) {
  if (!other || ours == nullptr || !ours->apart) return std::nullopt;
  return *other / ours->apart->seconds;
}

std::string machineText(const cli::Terminal& terminal, const std::vector<MachineLimit>& limits) {
  Table table({{"this machine"}, {"", Align::kRight}, {""}});
  for (const MachineLimit& limit : limits) table.add({{limit.name}, {number(limit.value)}, {limit.unit}});
  return table.text(terminal) + "\n";
}

std::string tableText(const cli::Terminal& terminal, const Shape& shape, const std::vector<Entry>& contenders,
                      const std::vector<CaseResult>& results) {
  std::vector<RatioColumn> ratios = ratioColumns(contenders);
  Table table = tableFor(contenders, ratios);
  const bool hasLimit = !namesOf(contenders, Role::kLimit).empty();
  for (const CaseResult& result : results) {
    std::vector<Cell> cells{{cli::byteText(result.c.bytes)}, {fmt::format("{:.0f}", result.window.low)}};
    for (const Role role : {Role::kOurs, Role::kPeer})
      for (const std::string& one : namesOf(contenders, role)) cells.push_back(timeCell(result.of(one)));
    if (hasLimit) {
      const auto limit = result.best(Role::kLimit);
      cells.push_back({limit ? number(*limit * 1e6) : "-"});
    }
    for (RatioColumn& column : ratios) {
      const auto value = ratio(result.best(column.role), result.of(column.ours));
      const auto apart = ratioApart(result.bestApart(column.role), result.of(column.ours));
      if (value) column.all.push_back(*value);
      if (apart) column.apart.push_back(*apart);
      cells.push_back(ratioCell(value, apart));
    }
    table.add(cells);
  }
  std::vector<Cell> means{{"geometric mean"}, {}};
  for (const Entry& entry : contenders)
    if (entry.role != Role::kLimit) means.push_back({});
  if (hasLimit) means.push_back({});
  for (const RatioColumn& column : ratios)
    means.push_back(ratioCell(geometricMean(column.all), geometricMean(column.apart)));
  table.add(means);
  const std::string where = shape.kind == Shape::kTwoHosts ? "2 ranks on 2 hosts"
                            : shape.each > 1
                                ? fmt::format("{} ranks with {} cores each", shape.ranks, shape.each)
                                : fmt::format("{} ranks on one host", shape.ranks);
  const Operation operation = results.empty() ? Operation{} : results.front().c.operation;
  return fmt::format("{}, {}, us back to back|us after a barrier{}\n{}\n", name(operation), where,
                     distanceText(results), table.text(terminal));
}

nlohmann::ordered_json jsonOf(const Shape& shape, const CaseResult& result) {
  nlohmann::ordered_json times = nlohmann::ordered_json::object();
  for (const Measured& m : result.measured) {
    nlohmann::ordered_json one{{"us", m.time.seconds * 1e6},
                               {"iterations", m.iterations},
                               {"rounds_used", m.time.used},
                               {"rounds", m.time.total}};
    if (m.apart) one["us_apart"] = m.apart->seconds * 1e6;
    if (m.wrong) one["wrong"] = *m.wrong;
    times[m.contender] = one;
  }
  nlohmann::ordered_json ratios = nlohmann::ordered_json::object();
  for (const Measured& m : result.measured) {
    if (m.role != Role::kOurs) continue;
    nlohmann::ordered_json one = nlohmann::ordered_json::object();
    if (const auto value = ratio(result.best(Role::kPeer), &m)) one["best_peer"] = *value;
    if (const auto value = ratioApart(result.bestApart(Role::kPeer), &m)) one["best_peer_apart"] = *value;
    if (const auto value = ratio(result.best(Role::kLimit), &m)) one["limit"] = *value;
    ratios[m.contender] = one;
  }
  return {{"shape", shape.name()},   {"operation", name(result.c.operation)},
          {"bytes", result.c.bytes}, {"line_ns", {result.window.low, result.window.high}},
          {"times", times},          {"by_ours", ratios}};
}

nlohmann::ordered_json jsonOf(const std::vector<MachineLimit>& limits) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const MachineLimit& limit : limits)
    all.push_back({{"name", limit.name}, {"value", limit.value}, {"unit", limit.unit}});
  return all;
}

}  // namespace xylem::bench
