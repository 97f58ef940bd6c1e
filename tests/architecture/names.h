#pragma once
// The names that a header defines, found by reading its text: enough to see that two headers define one name in one
// namespace, which the compiler only notices where one file includes both.
//
//   definedNames("namespace xylem::paths { struct Hop {}; constexpr int kMaxHops = 8; }")
//     ->  {"xylem::paths::Hop", "xylem::paths::kMaxHops"}

#include <string>
#include <string_view>
#include <vector>

namespace xylem::architecture {

// Types (not their declarations), aliases and constants at namespace level, in the order of the text. Functions are left
// out, as they may be overloaded.
std::vector<std::string> definedNames(std::string_view header);

// The named namespaces that a file opens at its outermost level.
std::vector<std::string> openedNamespaces(std::string_view file);

}  // namespace xylem::architecture
