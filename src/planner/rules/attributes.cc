#include "planner/rules/attributes.h"

namespace xylem::rules {
namespace {

struct NewAttribute {
  std::string_view element, name;
  Version since;
};

constexpr NewAttribute kNewAttributes[] = {
    {"net", "net", {2, 29, 7}},  {"net", "gin", {2, 29, 7}},   {"net", "rma", {2, 30, 7}},
    {"net", "rail", {2, 30, 7}}, {"net", "plane", {2, 30, 7}}, {"gpu", "mlopart", {2, 30, 7}},
};

}  // namespace

std::optional<Version> firstWith(std::string_view element, std::string_view attribute) {
  for (const NewAttribute& known : kNewAttributes)
    if (known.element == element && known.name == attribute) return known.since;
  return std::nullopt;
}

bool knowsAttribute(const Version& version, std::string_view element, std::string_view attribute) {
  const auto since = firstWith(element, attribute);
  return !since || version >= *since;
}

}  // namespace xylem::rules
