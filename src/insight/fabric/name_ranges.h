#pragma once
// Expands short lists of names, with ranges of numbers in brackets.
//
//   expandNames("leaf[0-2],spine", where)   ->   leaf0 leaf1 leaf2 spine
//   expandNames("h[08-10,20]", where)       ->   h08 h09 h10 h20
//   expandNames("r[0-1]n[0-1]", where)      ->   r0n0 r0n1 r1n0 r1n1

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace xylem::fabric {

// The most names that one list may expand to.
constexpr std::size_t kMaxNamesOfList = 1 << 17;

// Throws InputError at `where`.
std::vector<std::string> expandNames(std::string_view text, const SourceLocation& where);

// True if a name may appear in such a list as it is: not empty, without blanks, commas, brackets and `#`.
bool isPlainName(std::string_view name);

}  // namespace xylem::fabric
