#pragma once
// Writing a text to a file that somebody named.
//
//   writeFile("node.xml", writeTopology(document));

#include <string>

namespace xylem {

// Replaces what the file held. Throws Error naming the file and what went wrong.
void writeFile(const std::string& path, const std::string& text);

}  // namespace xylem
