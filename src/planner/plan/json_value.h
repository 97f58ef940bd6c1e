#pragma once
// JSON values as the plan's writers build them: keys stay in the order written, floats keep their shortest
// text.

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace xylem {

using Json = nlohmann::ordered_json;

// The double whose text is the shortest that reads back as this float: 20.6, not 20.600000381469727.
inline double number(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

}  // namespace xylem
