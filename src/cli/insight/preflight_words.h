#pragma once
// Sentences of `xylem preflight`: what a value is, what it does, what a remark means.

#include <string>

#include "insight/preflight/preflight.h"

namespace xylem::cli {

// "pattern of the trees".
std::string valueName(Unexchanged what);
// What is the matter with it, one sentence.
std::string explain(Unexchanged what);
// Why connecting channels that differ in it does not end.
std::string explain(Setup setup);

// "GPUs, compute capability", and what follows for the job; empty if the values say it.
std::string remarkName(Remarked what);
std::string remarkMeaning(const Remark& remark);

}  // namespace xylem::cli
