#pragma once
// JSON values as the writers of plans build them: keys stay in the order written, floats keep their shortest
// text. Inside a process a value stays a value; text is made of it where it leaves.
//
//   const Json json = {{"bandwidth", number(20.6f)}};
//   jsonText(json)   ->   "{\n \"bandwidth\": 20.6\n}"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace xylem::plan {

using Json = nlohmann::ordered_json;

// Returns the double whose text is the shortest that reads back as this float: 20.6, not 20.600000381469727.
inline double number(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

// Returns the JSON as text without a newline at its end. `indent` is the number of blanks per level; -1 puts
// everything into one line. Strings that are not UTF-8, which file names and variables need not be, have
// their bad bytes replaced, so that the text is always valid.
std::string jsonText(const Json& json, int indent = 1);

}  // namespace xylem::plan
