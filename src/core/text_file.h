#pragma once
// Writes a text to a file.
//
//   writeFile("node.xml", writeTopology(document));

#include <string>

namespace xylem {

// Replaces the content of the file. Throws an Error with the file's name and the reason.
void writeFile(const std::string& path, const std::string& text);

}  // namespace xylem
