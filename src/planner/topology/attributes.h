#pragma once
// Typed access to the attributes of a topology document, the way NCCL reads them: integers in C syntax (0x…
// hex, 0… octal) with whatever follows the number ignored, words matched as prefixes. What NCCL would
// silently take for 0 (a text that is no number) is an InputError naming file and line here.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "planner/topology/document.h"

namespace xylem {

class Attributes {
 public:
  Attributes(const Document& document, ElementId element) : document_(document), element_(element) {}

  bool has(std::string_view name) const { return document_.attribute(element_, name) != nullptr; }
  // Throws if absent: the element cannot be used without it.
  const std::string& text(std::string_view name) const;
  // Throws if absent, not a number, or outside [minimum, maximum]. An empty text counts as 0.
  std::int64_t integer(std::string_view name, std::int64_t minimum, std::int64_t maximum) const;
  std::int64_t integer(std::string_view name, std::int64_t minimum, std::int64_t maximum,
                       std::int64_t fallback) const;
  // A finite number, 0 or more. Throws if absent; with a `fallback`, takes that.
  float number(std::string_view name) const;
  float number(std::string_view name, float fallback) const;
  // Base 16 with or without 0x. Throws if absent; with a `fallback`, takes that.
  std::uint64_t hex(std::string_view name) const;
  std::uint64_t hex(std::string_view name, std::uint64_t fallback) const;
  // `0000:1b:00.0` as the number 0x1b000: the hex digits without '.' and ':'. Throws if there is no digit.
  std::uint64_t busId(std::string_view name) const;

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;

 private:
  std::string shown(std::string_view name) const;

  const Document& document_;
  ElementId element_;
};

// The digits of a bus id as a number; nullopt without any digit. Stops at the first character that is neither
// a digit nor '.' nor ':', takes 16 digits at most.
std::optional<std::uint64_t> parseBusId(std::string_view text);
// `0000:1b:00.0` of 0x1b000.
std::string busIdText(std::uint64_t id);

enum class PciClass { kPci, kNvs, kCpu, kGpu, kNic };
// By the class code of the device, matched as a prefix.
PciClass pciClass(std::string_view code);

}  // namespace xylem
