#include "planner/paths/path_type.h"

#include <cstdlib>
#include <string>

namespace xylem {
namespace {

constexpr const char* kNames[kPathTypes] = {"LOC", "NVL", "NVB", "PIX", "PXB",
                                            "PXN", "PHB", "SYS", "NET", "DIS"};
// What the digits 0 to 4 meant before the names existed.
constexpr PathType kOldLevels[] = {PathType::kLoc, PathType::kPix, PathType::kPxb, PathType::kPhb,
                                   PathType::kSys};

}  // namespace

const char* name(PathType type) { return kNames[static_cast<int>(type)]; }

std::optional<PathType> parsePathType(std::string_view text) {
  for (int i = 0; i < kPathTypes; ++i)
    if (text == kNames[i]) return static_cast<PathType>(i);
  return std::nullopt;
}

std::optional<PathType> parseLevel(std::string_view text) {
  if (const auto type = parsePathType(text); type && *type <= PathType::kSys) return type;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const long digit = std::strtol(std::string(text).c_str(), nullptr, 10);
  return digit < 5 ? kOldLevels[digit] : PathType::kSys;
}

}  // namespace xylem
