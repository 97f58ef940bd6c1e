#include "core/per_process.h"

#include <pthread.h>

namespace xylem {
namespace {

// An object may be there several times.
struct Enlisted {
  StartedAnew* object;
  Enlisted* older;
};
constinit std::atomic<Enlisted*> newest{nullptr};

}  // namespace

struct EveryStartedAnew {
  // Only the thread that forked is there.
  static void startAnew() {
    for (Enlisted* one = newest.load(); one != nullptr; one = one->older) one->object->startAnew();
  }
};

namespace {

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, EveryStartedAnew::startAnew);

}  // namespace

void StartedAnew::enlist() {
  auto one = std::make_unique<Enlisted>(Enlisted{this, newest.load()});
  while (!newest.compare_exchange_weak(one->older, one.get())) {
  }
  static_cast<void>(one.release());
}

}  // namespace xylem
