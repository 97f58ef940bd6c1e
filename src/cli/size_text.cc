#include "cli/size_text.h"

#include <fmt/format.h>

#include <array>

namespace xylem::cli {

std::string sizeText(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr std::uint64_t kStep = 1024;
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && bytes >= kStep && bytes % kStep == 0; ++unit) bytes /= kStep;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

}  // namespace xylem::cli
