#include "cli/run/lines.h"

#include <utility>

namespace xylem::cli {

std::string LineTagger::add(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t room = kLongestLine - partial_.size();
    const std::size_t taken = std::min(end == std::string_view::npos ? text.size() : end, room);
    partial_ += text.substr(0, taken);
    text.remove_prefix(taken);
    const bool complete = !text.empty() && text.front() == '\n';
    if (complete) text.remove_prefix(1);
    if (complete || partial_.size() == kLongestLine) lines += tag_ + std::exchange(partial_, {}) + "\n";
  }
  return lines;
}

std::string LineTagger::finish() { return partial_.empty() ? "" : tag_ + std::exchange(partial_, {}) + "\n"; }

}  // namespace xylem::cli
