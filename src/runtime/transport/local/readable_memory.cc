#include "runtime/transport/local/readable_memory.h"

#include <algorithm>

#include "runtime/transport/local/process_memory.h"

namespace xylem::transport {
namespace {

// With more stretches, all are tried again.
constexpr std::size_t kMostKnown = 256;
// A trial takes 0.3 to 3 us, and to copy as much as this some hundred.
constexpr std::size_t kAlwaysTried = std::size_t{4} << 20;

}  // namespace

bool ReadableMemory::holds(const std::byte* data, std::size_t bytes) {
  if (bytes == 0) return true;
  const Stretch asked{data, data + bytes};
  const auto after = std::ranges::upper_bound(known_, data, {}, &Stretch::begin);
  const bool known = after != known_.begin() && asked.end <= std::prev(after)->end;
  if (known && bytes < kAlwaysTried) return true;
  if (!canBeRead(data, asked.end - 1)) return false;
  if (!known) add(asked);
  return true;
}

// Buffers that a program frees and allocates again lie beside each other and over each other: they become one stretch.
void ReadableMemory::add(Stretch stretch) {
  const auto first = std::ranges::lower_bound(known_, stretch.begin, {}, &Stretch::end);
  const auto last = std::ranges::upper_bound(known_, stretch.end, {}, &Stretch::begin);
  if (first != last) {
    stretch.begin = std::min(stretch.begin, first->begin);
    stretch.end = std::max(stretch.end, std::prev(last)->end);
  }
  known_.insert(known_.erase(first, last), stretch);
  if (known_.size() > kMostKnown) known_ = {stretch};
}

}  // namespace xylem::transport
