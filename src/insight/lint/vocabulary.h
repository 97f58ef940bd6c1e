#pragma once
// The words of a topology file: which element may stand in which, and which attributes it has.

#include <cstdint>
#include <span>
#include <string_view>

namespace xylem {

struct ElementRule {
  std::string_view name;
  std::string_view parents[2];  // the second may be empty
};
std::span<const ElementRule> elementRules();
// Null if there is no such element.
const ElementRule* elementRule(std::string_view name);

enum class ValueForm { kText, kInteger, kFlag, kHex, kNumber, kBusId };

struct AttributeRule {
  std::string_view element, name;
  ValueForm form = ValueForm::kText;
  std::int64_t least = 0, most = 0;  // of integers
  bool needed = false;               // without exception
  std::string_view example;          // "sm=\"90\": the compute capability, 9.0 as 90"
};
std::span<const AttributeRule> attributeRules();
// Null if the element has no such attribute.
const AttributeRule* attributeRule(std::string_view element, std::string_view name);

}  // namespace xylem
