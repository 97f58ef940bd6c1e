#include "cli/arguments.h"

#include <fmt/core.h>

#include <charconv>

#include "core/error.h"

namespace xylem::cli {

CLI::Validator integerIn(std::int64_t minimum, std::int64_t maximum) {
  const auto check = [minimum, maximum](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= minimum && value <= maximum) return {};
    return fmt::format("found `{}`, expected an integer from {} to {}", text, minimum, maximum);
  };
  // Without a description: the help names the range in words where it matters.
  return CLI::Validator(check, "");
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
