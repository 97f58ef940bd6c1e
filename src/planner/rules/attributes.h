#pragma once
// The attributes of topology files that have not always been NCCL's.
//
//   if (!knowsAttribute({2, 27, 7}, "net", "gin")) ... it leaves it out; firstWith("net", "gin") does not ...

#include <optional>
#include <string_view>

#include "planner/rules/version.h"

namespace xylem::rules {

// The first release that reads or writes the attribute of an element; nothing for those that all versions know, and for names
// that none knows.
std::optional<Version> firstWith(std::string_view element, std::string_view attribute);

bool knowsAttribute(const Version& version, std::string_view element, std::string_view attribute);

}  // namespace xylem::rules
