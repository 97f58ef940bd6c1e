#include "planner/topology/detect_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "core/file_descriptor.h"

namespace xylem::topology {

namespace fs = std::filesystem;

namespace {

// More than most of these files hold.
constexpr std::size_t kBlockBytes = 512;

// Bernstein's hash in its variant with exclusive or, in 64 bits: hash = hash * 33 ^ character.
constexpr std::uint64_t kSeed = 5381;
constexpr std::uint64_t kFactor = 33;

std::uint64_t hashText(std::string_view text) {
  std::uint64_t hash = kSeed;
  for (const char c : text) hash = (hash * kFactor) ^ static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

// Reads without a stream, which costs more: every rank of a host reads hundreds of these files when it
// starts.
std::string readLine(const fs::path& file) {
  const FileDescriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string line;
  char block[kBlockBytes];
  while (fd) {
    const ssize_t count = read(fd.get(), block, sizeof block);
    if (count <= 0) break;
    const std::string_view part(block, static_cast<std::size_t>(count));
    const std::size_t end = part.find('\n');
    line += part.substr(0, end);
    if (end != std::string_view::npos) break;
  }
  return line;
}

std::vector<std::string> readLines(const fs::path& file, std::size_t limit) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; lines.size() < limit && std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> listFolder(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path realPath(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? fs::path() : real;
}

int parseInt(std::string_view text, int fallback) {
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(copy.c_str(), &end, 0);
  if (end == copy.c_str() || errno == ERANGE || value < INT_MIN || value > INT_MAX) return fallback;
  return static_cast<int>(value);
}

std::string hostHash(const fs::path& root, std::string_view hostId) {
  std::string identity(hostId);
  // The boot id tells cloned machines with one name apart, and is the same in all containers of a machine.
  if (identity.empty())
    identity =
        readLine(root / "proc/sys/kernel/hostname") + readLine(root / "proc/sys/kernel/random/boot_id");
  return fmt::format("{:#x}", hashText(identity));
}

}  // namespace xylem::topology
