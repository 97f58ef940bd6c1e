#include "core/log.h"

namespace xylem {

std::string expandLogFileName(std::string_view pattern, std::string_view host, int pid) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      name += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'h':
        name += host;
        break;
      case 'p':
        name += std::to_string(pid);
        break;
      case '%':
        name += '%';
        break;
      default:
        name += '%', name += pattern[i];
    }
  }
  return name;
}

}  // namespace xylem
