#pragma once
// What `xylem preflight --json` prints, `xylem-preflight-1`. Whatever is "by kind" is in the order of
// `kinds`.

#include <string>

#include "insight/preflight/preflight.h"

namespace xylem::cli {

std::string preflightJson(const Plan& plan, const Preflight& result);

}  // namespace xylem::cli
