#pragma once
// The check that runs over XML text before the parser does; parseXml (xml_text.h) calls it.
//
// It is a scanner, not a parser: it knows where tags, values and comments begin and end, so that it can count
// them, and leaves names and nesting to tinyxml2. Wherever the two could disagree on a boundary it refuses
// the text.

#include <string>
#include <string_view>

#include "planner/topology/xml_text.h"

namespace xylem {

// Throws InputError if `text` breaks a limit or holds what NCCL's XML dialect has not.
void scanXml(std::string_view text, const std::string& file, const XmlLimits& limits);

}  // namespace xylem
