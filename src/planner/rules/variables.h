#pragma once
// Tells which of NCCL's variables a version knows, and with which default.
//
//   knows({2, 27, 7}, "NCCL_NETDEVS_POLICY")              ->   false
//   lifeText("NCCL_NETDEVS_POLICY")                       ->   "since NCCL 2.28"
//   defaultIn({2, 27, 7}, "NCCL_NET_GDR_C2C", "-2")       ->   "1"
//
// The oldest version that is asked about is 2.25.1. core/nccl_variables.h says of variables that Xylem does not read since
// when they exist; the table here says it of those that it reads.

#include <string>
#include <string_view>

#include "planner/rules/version.h"

namespace xylem::rules {

// True for a variable of Xylem's, and for a name that no table has.
bool knows(const Version& version, std::string_view variable);
// The versions that know the variable: "since NCCL 2.28", "until NCCL 2.29"; empty if all do.
std::string lifeText(std::string_view variable);
// The variable's default in this version, where versions differ; else `fallback`.
std::string_view defaultIn(const Version& version, std::string_view variable, std::string_view fallback);

}  // namespace xylem::rules
