#pragma once
// Typed access to the attributes of an element, the way NCCL reads them: integers in C syntax (0x… hex, 0…
// octal) with any text after the number ignored, words matched as prefixes.
//
//   const Attributes attributes(document, gpu);
//   const auto sm = attributes.integer("sm", 0, 10000);     // throws if absent
//   const auto port = attributes.integer("port", 0, 255, 1);   // 1 if absent
//
// A text that is no number is an InputError with file and line. NCCL silently takes it for 0.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "planner/topology/document.h"

namespace xylem::topology {

class Attributes {
 public:
  Attributes(const Document& document, ElementId element) : document_(document), element_(element) {}

  bool has(std::string_view name) const { return document_.attribute(element_, name) != nullptr; }
  // The functions below throw InputError if the attribute is absent, unless they have a `fallback`.
  const std::string& text(std::string_view name) const;
  // Throws if the text is not a number in [minimum, maximum]. An empty text counts as 0.
  std::int64_t integer(std::string_view name, std::int64_t minimum, std::int64_t maximum) const;
  std::int64_t integer(std::string_view name, std::int64_t minimum, std::int64_t maximum,
                       std::int64_t fallback) const;
  // A finite number, 0 or more.
  float number(std::string_view name) const;
  float number(std::string_view name, float fallback) const;
  // Base 16 with or without 0x. An empty text counts as 0.
  std::uint64_t hex(std::string_view name) const;
  std::uint64_t hex(std::string_view name, std::uint64_t fallback) const;
  // `0000:1b:00.0` as the number 0x1b000 (parseBusId). Throws if there is no digit.
  std::uint64_t busId(std::string_view name) const;

  // Throws InputError at the element's line.
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;

 private:
  std::string shown(std::string_view name) const;

  const Document& document_;
  ElementId element_;
};

// The hexadecimal digits of a bus id, without '.' and ':', as a number; nullopt if there is no digit. Stops
// at any other character and after 16 digits.
std::optional<std::uint64_t> parseBusId(std::string_view text);
// 0x1b000 as `0000:1b:00.0`.
std::string busIdText(std::uint64_t id);

enum class PciClass { kPci, kNvs, kCpu, kGpu, kNic };
// The kind of a device by its class code, such as 0x030200. NCCL compares prefixes; an unknown code is kPci.
PciClass pciClass(std::string_view code);

}  // namespace xylem::topology
