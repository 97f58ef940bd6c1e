#include "core/spelling.h"

#include <cctype>
#include <charconv>

namespace xylem {

std::optional<std::uint64_t> parseSize(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::string unit = lettersOf(rest);
  if (unit.size() != rest.size()) return std::nullopt;
  constexpr std::string_view kUnits = "kmgtpe";
  double scale = 1;
  if (!unit.empty() && unit != "b") {
    const std::size_t at = kUnits.find(unit.front());
    const std::string_view suffix = std::string_view(unit).substr(1);
    if (at == std::string_view::npos || !(suffix.empty() || suffix == "b" || suffix == "ib"))
      return std::nullopt;
    for (std::size_t i = 0; i <= at; ++i) scale *= 1024;
  }
  const double bytes = number * scale;
  if (bytes > 0x1p60) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string lowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string lettersOf(std::string_view text) {
  std::string letters;
  for (const unsigned char c : text)
    if (std::isalnum(c) != 0) letters += static_cast<char>(std::tolower(c));
  return letters;
}

std::optional<Collective> collectiveNamed(std::string_view text) {
  for (const Collective collective : kAllCollectives)
    if (isSameWord(name(collective), text)) return collective;
  return std::nullopt;
}

}  // namespace xylem
