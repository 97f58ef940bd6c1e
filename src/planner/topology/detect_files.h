#pragma once
// Reading the kernel's one-line files below a root folder. What is missing or unreadable is empty text, never
// an error: containers hide any of them.
//
//   readLine(root / "sys/class/net/eth0/speed")        -> "25000"
//   readLine(root / "sys/class/net/lo/speed")          -> ""      (the kernel answers EINVAL)
//   parseInt("-1", 0)                                  -> -1

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace xylem {

// The first line without its newline.
std::string readLine(const std::filesystem::path& file);

// All lines, for files such as /proc/cpuinfo; at most `limit` of them.
std::vector<std::string> readLines(const std::filesystem::path& file, std::size_t limit);

// The names in a folder, sorted, so that nothing depends on the file system's order.
std::vector<std::string> listFolder(const std::filesystem::path& folder);

// With links resolved; empty if that fails.
std::filesystem::path realPath(const std::filesystem::path& path);

// C syntax (10, 0x10); `fallback` if the text does not start with a number that fits.
int parseInt(std::string_view text, int fallback);

// "0000:1B:00.0" -> "0000:1b:00.0"
std::string lowerCase(std::string text);

}  // namespace xylem
