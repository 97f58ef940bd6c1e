#include "core/per_process.h"

#include <pthread.h>

namespace xylem {
namespace {

std::atomic<StartedAnew*> newest{nullptr};

}  // namespace

StartedAnew::StartedAnew() {
  static const int registered = pthread_atfork(nullptr, nullptr, startAllAnew);
  static_cast<void>(registered);
  next_ = newest.load();
  while (!newest.compare_exchange_weak(next_, this)) {
  }
}

void StartedAnew::startAllAnew() {
  for (StartedAnew* state = newest.load(); state != nullptr; state = state->next_) state->startAnew();
}

}  // namespace xylem
