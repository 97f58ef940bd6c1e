#include "insight/report/text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace xylem::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns the length of the UTF-8 character at the beginning; 0 if it is invalid or XML forbids it.
std::size_t characterAt(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kMinCode[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kMinCode[length] || code > 0x10ffff || surrogate || code == 0xfffe || code == 0xffff ? 0
                                                                                                     : length;
}

}  // namespace

std::string markupText(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t length = characterAt(text);
    switch (length == 0 ? '\0' : text[0]) {
      case '\0':
        safe += kReplacement;
        break;
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

std::string scriptText(std::string_view json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

std::string dotText(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t length = characterAt(text);
    if (length == 0)
      safe += kReplacement;
    else if (text[0] == '"' || text[0] == '\\')
      safe += fmt::format("\\{}", text[0]);
    else if (text[0] == '\n')
      safe += "\\n";
    else
      safe += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

std::string shortBandwidth(float bandwidth) {
  const float tenths = std::round(bandwidth * 10) / 10;
  return tenths == std::floor(tenths) ? fmt::format("{:.0f}", tenths) : fmt::format("{:.1f}", tenths);
}

}  // namespace xylem::report
