#include "core/text_file.h"

#include <cerrno>
#include <cstdio>

#include "core/error.h"

namespace xylem {

void writeFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw Error(ResultCode::kSystemError, "cannot write {}: {}", path, errnoText(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int reason = errno;
  if (std::fclose(file) != 0 || !written)
    throw Error(ResultCode::kSystemError, "cannot write {}: {}", path, errnoText(written ? errno : reason));
}

}  // namespace xylem
