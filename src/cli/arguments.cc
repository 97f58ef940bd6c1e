#include "cli/arguments.h"

#include <fmt/core.h>

#include <charconv>

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

}  // namespace xylem::cli
