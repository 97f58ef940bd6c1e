#include "cli/size_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "core/error.h"

namespace xylem::cli {

std::string sizeText(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr std::uint64_t kStep = 1024;
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && bytes >= kStep && bytes % kStep == 0; ++unit) bytes /= kStep;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::size_t parseBytes(const std::string& text, const std::string& option) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string unit(end, text.data() + text.size());
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "K" || unit == "k") scale = 1024;
  if (unit == "M" || unit == "m") scale = 1024.0 * 1024;
  if (unit == "G" || unit == "g") scale = 1024.0 * 1024 * 1024;
  const double bytes = number * scale;
  if (error != std::errc() || scale == 0 || !(bytes >= 0) || bytes > 0x1p40)
    throw InputError({option, 0}, "`" + text + "`",
                     "a number of bytes such as 8, 64K, 1.5M or 2G, at most 1024G");
  return static_cast<std::size_t>(bytes);
}

}  // namespace xylem::cli
