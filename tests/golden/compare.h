#pragma once
// Compares a plan with a golden one, field by field: names, integers and booleans exactly, floats to 1e-4
// relative.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace xylem::golden {

// The first difference as `path in the document: expected X, got Y`; nullopt if there is none. What the
// golden lacks may be anything; what only describes the effort or the input is not compared.
std::optional<std::string> firstDifference(const nlohmann::json& expected, const nlohmann::json& actual);

}  // namespace xylem::golden
