#include "planner/topology/detect_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "core/file_descriptor.h"

namespace xylem {

namespace fs = std::filesystem;

namespace {

// Of most such files more than all.
constexpr std::size_t kBlockBytes = 512;

}  // namespace

// Without a stream: every rank of a host reads hundreds of these files when it starts.
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

std::string lowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace xylem
