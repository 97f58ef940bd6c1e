#pragma once
// Keeps an object that can neither be used nor destroyed, as a thread of the parent may have been inside of it when this process was
// forked. The address sanitizer does not take it for a leak.
//
//   keepForEver(std::move(thread_));

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace xylem {

template <typename Object>
void keepForEver(std::unique_ptr<Object> object) {
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::unique_ptr<Object>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(object));
}

}  // namespace xylem
