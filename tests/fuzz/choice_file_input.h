#pragma once
// One input of the fuzzer of the file in which processes remember how data moves within a host. The lines that are
// believed can be written and read again, and have no control characters.
//
//   feedChoiceFile(bytes);   // true if all of the file was believed

#include <algorithm>

#include "fuzz/require.h"
#include "runtime/transport/choices/choice_file.h"

namespace xylem {

inline bool feedChoiceFile(std::string_view bytes) {
  const std::vector<transport::ChoiceLine> lines = transport::choicesFromText(bytes);
  require(lines.size() <= transport::kMaxChoiceLines);
  const std::string text = transport::textOf(lines);
  require(std::none_of(text.begin(), text.end(),
                       [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }));
  require(transport::textOf(transport::choicesFromText(text)) == text);
  for (const transport::ChoiceLine& line : lines)
    for (const transport::CopyChoiceField& field : transport::copyChoiceFields()) {
      const std::uint64_t value = line.known.choices.*field.value;
      require(value >= field.least && value <= field.most);
    }
  return text == bytes;
}

}  // namespace xylem
