#pragma once
// Sets the size of a file, as that of memory that processes share.
//
//   if (!resizeFile(file.get(), bytes)) throw Error(..., errnoText(errno));

#include <cstddef>

namespace xylem {

// As ftruncate: returns false with errno. A file beyond the limit of the process (ulimit -f) is an error (EFBIG) here, not a signal that ends the process.
bool resizeFile(int fd, std::size_t bytes) noexcept;

}  // namespace xylem
