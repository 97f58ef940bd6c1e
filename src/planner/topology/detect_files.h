#pragma once
// Reads the kernel's one-line files below a root folder, and makes a host's hash of two of them. A missing or
// unreadable file is an empty text, never an error, since containers hide any of them.
//
//   readLine(root / "sys/class/net/eth0/speed")        -> "25000"
//   readLine(root / "sys/class/net/lo/speed")          -> ""      (the kernel answers EINVAL)
//   parseInt("-1", 0)                                  -> -1

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::topology {

// The first line without its newline.
std::string readLine(const std::filesystem::path& file);

// All lines, for files such as /proc/cpuinfo; at most `limit` of them.
std::vector<std::string> readLines(const std::filesystem::path& file, std::size_t limit);

// The names in a folder, sorted, because a file system has an order of its own.
std::vector<std::string> listFolder(const std::filesystem::path& folder);

// The path with links resolved; empty if that fails.
std::filesystem::path realPath(const std::filesystem::path& path);

// The number that the text starts with, in C syntax (10, 0x10); `fallback` if there is none or it does not
// fit.
int parseInt(std::string_view text, int fallback);

// The number that tells hosts apart, in the form of the `host_hash` attribute: ranks with equal hashes share
// a machine.
//
//   hostHash("/", "")        -> "0x8a3c…" from host name and boot id
//   hostHash("/", "node-a")  -> from NCCL_HOSTID alone
std::string hostHash(const std::filesystem::path& root, std::string_view hostId);

}  // namespace xylem::topology
