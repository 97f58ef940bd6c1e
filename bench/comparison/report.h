#pragma once
// What a comparison found, for people and for programs.
//
//   writeOut(tableText(terminal, shape, results));     // of one operation
//   document["cases"].push_back(jsonOf(shape, result));

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "comparison/comparison.h"
#include "comparison/machine_limits.h"
#include "comparison/shape.h"

namespace xylem::bench {

std::string machineText(const cli::Terminal& terminal, const std::vector<MachineLimit>& limits);

// All sizes of one operation, with the geometric means of the ratios. `contenders`: who took part at any
// size.
std::string tableText(const cli::Terminal& terminal, const Shape& shape, const std::vector<Entry>& contenders,
                      const std::vector<CaseResult>& results);

nlohmann::ordered_json jsonOf(const Shape& shape, const CaseResult& result);
nlohmann::ordered_json jsonOf(const std::vector<MachineLimit>& limits);

// How much faster than ours the other is: its time by ours; nothing if one of them is missing.
std::optional<double> ratio(std::optional<double> other, const Measured* ours);

}  // namespace xylem::bench
