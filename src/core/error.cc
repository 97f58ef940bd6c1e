#include "core/error.h"

#include <system_error>

namespace xylem {

std::string toString(const SourceLocation& location) {
  return location.line > 0 ? fmt::format("{}:{}", location.file, location.line) : location.file;
}

std::string errnoText(int errnum) { return std::generic_category().message(errnum); }

}  // namespace xylem
