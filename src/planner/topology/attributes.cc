#include "planner/topology/attributes.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace xylem::topology {
namespace {

std::optional<int> hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Messages show this many characters of a value.
constexpr std::size_t kMaxShownLength = 40;

}  // namespace

std::string Attributes::shown(std::string_view name) const {
  std::string value = text(name);
  if (value.size() > kMaxShownLength) value = value.substr(0, kMaxShownLength) + "…";
  return fmt::format("{} with {}=\"{}\"", document_[element_].name, name, value);
}

void Attributes::fail(const std::string& found, const std::string& expected) const {
  throw InputError(document_.location(element_), found, expected);
}

const std::string& Attributes::text(std::string_view name) const {
  const std::string* value = document_.attribute(element_, name);
  if (value == nullptr)
    fail(fmt::format("{} without `{}`", document_[element_].name, name),
         fmt::format("attribute {} on every {}", name, document_[element_].name));
  return *value;
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t minimum, std::int64_t maximum) const {
  const std::string& value = text(name);
  if (value.empty()) return 0;
  errno = 0;
  char* end = nullptr;
  const long long number = std::strtoll(value.c_str(), &end, 0);
  if (end == value.c_str() || errno == ERANGE || number < minimum || number > maximum)
    fail(shown(name), fmt::format("an integer from {} to {}", minimum, maximum));
  return number;
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t minimum, std::int64_t maximum,
                                 std::int64_t fallback) const {
  return has(name) ? integer(name, minimum, maximum) : fallback;
}

float Attributes::number(std::string_view name) const {
  const std::string& value = text(name);
  char* end = nullptr;
  const float number = std::strtof(value.c_str(), &end);
  if (end == value.c_str() || !std::isfinite(number) || number < 0)
    fail(shown(name), "a finite number, 0 or more");
  return number;
}

float Attributes::number(std::string_view name, float fallback) const {
  return has(name) ? number(name) : fallback;
}

std::uint64_t Attributes::hex(std::string_view name) const {
  const std::string& value = text(name);
  if (value.empty()) return 0;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(value.c_str(), &end, 16);
  if (end == value.c_str()) fail(shown(name), "a hexadecimal number such as 0x10de");
  return number;
}

std::uint64_t Attributes::hex(std::string_view name, std::uint64_t fallback) const {
  return has(name) ? hex(name) : fallback;
}

std::uint64_t Attributes::busId(std::string_view name) const {
  const auto id = parseBusId(text(name));
  if (!id) fail(shown(name), "a bus id such as 0000:1b:00.0");
  return *id;
}

std::optional<std::uint64_t> parseBusId(std::string_view text) {
  std::uint64_t id = 0;
  int digits = 0;
  for (char c : text) {
    if (c == '.' || c == ':') continue;
    const auto digit = hexDigit(c);
    if (!digit || digits == 16) break;
    id = (id << 4) | static_cast<std::uint64_t>(*digit);
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  return id;
}

std::string busIdText(std::uint64_t id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", id >> 20, (id >> 12) & 0xff, (id >> 4) & 0xff, id & 0xf);
}

PciClass pciClass(std::string_view code) {
  static constexpr std::pair<std::string_view, PciClass> kClasses[] = {
      {"0x060400", PciClass::kPci}, {"0x068000", PciClass::kNvs}, {"0x068001", PciClass::kCpu},
      {"0x03", PciClass::kGpu},     {"0x02", PciClass::kNic},
  };
  for (const auto& [prefix, type] : kClasses)
    if (code.starts_with(prefix)) return type;
  return PciClass::kPci;
}

}  // namespace xylem::topology
