#pragma once
// What to make of the results of a plugin's functions.
//
//   requireSuccess(functions.init(log), "init", name);            // while it is loaded

#include <string>

#include "core/error.h"
#include "runtime/plugins/abi.h"

namespace xylem {

// `system error (2)`.
inline std::string resultText(abi::Result result) {
  static constexpr const char* kTexts[] = {"success",        "CUDA error",       "system error",
                                           "internal error", "invalid argument", "invalid usage",
                                           "remote error",   "in progress"};
  const bool known = result >= 0 && result < static_cast<int>(std::size(kTexts));
  return fmt::format("{} ({})", known ? kTexts[result] : "unknown result", result);
}

inline void requireSuccess(abi::Result result, const char* what, const std::string& name) {
  if (result != abi::kSuccess)
    throw Error(ResultCode::kSystemError, "{}: {} failed: {}", name, what, resultText(result));
}

// Plugins report broken connections as either of the two.
constexpr bool breaksLink(abi::Result result) {
  return result == abi::kSystemError || result == abi::kRemoteError;
}

}  // namespace xylem
