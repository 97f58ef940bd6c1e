#include "core/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem {

void requireSize(std::size_t bytes, const std::string& file, std::size_t mostBytes) {
  if (bytes > mostBytes)
    throw InputError({file, 0}, fmt::format("more than {} MiB", mostBytes >> 20),
                     "a file of at most that size");
}

std::string readFile(const std::string& path, const std::string& expected, std::size_t mostBytes) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw InputError({path, 0}, fmt::format("nothing to read ({})", errnoText(errno)), expected);
  std::string text;
  constexpr std::size_t kChunk = 1u << 16;
  while (true) {
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    const ssize_t count = read(file.get(), text.data() + size, kChunk);
    const int error = errno;
    text.resize(size + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count < 0 && error == EINTR) continue;
    if (count < 0)
      throw InputError({path, 0},
                       error == EISDIR ? "a directory" : "a file that cannot be read: " + errnoText(error),
                       expected);
    requireSize(text.size(), path, mostBytes);
    if (count == 0) return text;
  }
}

void writeFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw Error(ResultCode::kSystemError, "cannot write {}: {}", path, errnoText(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int reason = errno;
  if (std::fclose(file) != 0 || !written)
    throw Error(ResultCode::kSystemError, "cannot write {}: {}", path, errnoText(written ? errno : reason));
}

}  // namespace xylem
