#include "runtime/comm/join/copy_changes.h"

#include <fmt/core.h>

namespace xylem::comm {
namespace {

// As many changes fit beside the choices in the recorder.
constexpr std::size_t kMostShown = 6;

}  // namespace

void CopyChanges::showChoices() {
  const std::lock_guard lock(mutex_);
  show();
}

void CopyChanges::add(std::string_view what, const transport::WayChange& change) {
  log_.info(Subsystem::kInit, "Copies within the host: {}", transport::changeText(what, change));
  const std::lock_guard lock(mutex_);
  std::erase_if(ways_, [&](const Way& way) { return way.what == what && way.bytes == change.bytes; });
  ways_.push_back({std::string(what), change.bytes, transport::wayText(what, change)});
  show();
}

// The reason comes last, as it is long and may be cut off.
void CopyChanges::show() {
  std::string text = copies_.choices.text();
  std::string_view before = kSinceThen;
  for (std::size_t i = ways_.size(), shown = 0; i > 0 && shown < kMostShown; --i, ++shown) {
    text += fmt::format("{}{}", before, ways_[i - 1].text);
    before = "; ";
  }
  if (ways_.size() > kMostShown) text += fmt::format("; and {} more", ways_.size() - kMostShown);
  recorder_.showCopies(fmt::format("{} ({})", text, copies_.reason));
}

}  // namespace xylem::comm
