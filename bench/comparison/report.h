#pragma once
// The results of a comparison as text and as JSON.
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

// All sizes of one operation, with the geometric means of the ratios. `contenders` are those that took part
// at any size.
std::string tableText(const cli::Terminal& terminal, const Shape& shape, const std::vector<Entry>& contenders,
                      const std::vector<CaseResult>& results);

nlohmann::ordered_json jsonOf(const Shape& shape, const CaseResult& result);
nlohmann::ordered_json jsonOf(const std::vector<MachineLimit>& limits);

// The other one's time divided by ours: above 1, ours is faster. Nothing if one of them is missing.
std::optional<double> ratio(std::optional<double> other, const Measured* ours);
// The same of iterations that are apart.
std::optional<double> ratioApart(std::optional<double> other, const Measured* ours);

}  // namespace xylem::bench
