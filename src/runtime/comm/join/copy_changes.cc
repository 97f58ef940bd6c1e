#include "runtime/comm/join/copy_changes.h"

namespace xylem::comm {

void CopyChanges::add(std::string_view what, const transport::WayChange& change) {
  log_.info(Subsystem::kInit, "Copies within the host: {}", transport::changeText(what, change));
  const std::lock_guard lock(mutex_);
  latest_[{std::string(what), change.bytes}] = transport::wayText(what, change);
  std::string text = chosen_;
  const char* before = kSinceThen;
  for (const auto& [_, way] : latest_) text += std::exchange(before, ", ") + way;
  recorder_.showCopies(text);
}

}  // namespace xylem::comm
