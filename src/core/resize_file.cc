#include "core/resize_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace xylem {

bool resizeFile(int fd, std::size_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
    errno = EFBIG;
    return false;
  }
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0;
}

}  // namespace xylem
