#pragma once
// Reads and writes whole files.
//
//   const std::string text = readFile("vm.map", "a map of devices", 1 << 20);
//   writeFile("node.xml", writeTopology(document));

#include <cstddef>
#include <string>

namespace xylem {

// The content of the file, of at most `mostBytes`. Throws an InputError that names the file and says why it cannot be read, or that it is
// a directory; `expected` says what it should be.
std::string readFile(const std::string& path, const std::string& expected, std::size_t mostBytes);
// Throws an InputError if the file has more bytes than that.
void requireSize(std::size_t bytes, const std::string& file, std::size_t mostBytes);
// Replaces the content of the file. Throws an Error with the file's name and the reason.
void writeFile(const std::string& path, const std::string& text);

}  // namespace xylem
