#pragma once
// Compares a plan with a golden one, field by field: names, integers and booleans exactly, floats to 1e-4
// relative.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace xylem::golden {

// Returns the first difference as `path in the document: expected X, got Y`, or nullopt. Values that the
// golden does not have may be anything, and values that only describe the effort or the input are not
// compared.
std::optional<std::string> firstDifference(const nlohmann::json& expected, const nlohmann::json& actual);

}  // namespace xylem::golden
