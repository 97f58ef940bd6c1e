#pragma once
// Keeps an object that can neither be used nor destroyed, as a thread of the parent may have been inside of it when this process was
// forked. The address sanitizer does not take it for a leak.
//
//   keepForEver(std::move(thread_));

#include <atomic>
#include <memory>
#include <utility>

namespace xylem {

// Takes no lock, which a thread of the parent might have had.
template <typename Object>
void keepForEver(std::unique_ptr<Object> object) {
  if (object == nullptr) return;
  struct Kept {
    std::unique_ptr<Object> object;
    Kept* older;
  };
  static constinit std::atomic<Kept*> newest{nullptr};
  auto kept = std::make_unique<Kept>(Kept{std::move(object), newest.load()});
  while (!newest.compare_exchange_weak(kept->older, kept.get())) {
  }
  static_cast<void>(kept.release());
}

}  // namespace xylem
