#pragma once
// JSON values as the writers of plans build them: keys stay in the order written, floats keep their shortest
// text.
//
//   Json json = {{"bandwidth", number(20.6f)}};   ->   {"bandwidth": 20.6}

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace xylem::plan {

using Json = nlohmann::ordered_json;

// Returns the double whose text is the shortest that reads back as this float: 20.6, not 20.600000381469727.
inline double number(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

}  // namespace xylem::plan
