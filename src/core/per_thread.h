#pragma once
// Thread-local variables that are found without a function call. In a shared library each access to an
// ordinary thread_local calls the loader. These use the initial-exec model, whose space is small in libraries
// that are loaded later: only for pointers and numbers.
//
//   XYLEM_THREAD_LOCAL int depth = 0;
//   Members& mine = perThread<Members>();

#define XYLEM_THREAD_LOCAL thread_local constinit __attribute__((tls_model("initial-exec")))

#include <memory>
#include <utility>

namespace xylem {

template <typename T>
[[gnu::noinline]] void makePerThread(T*& mine) {
  struct Owner {
    explicit Owner(T*& owned) : mine(owned) {}
    ~Owner() { delete std::exchange(mine, nullptr); }
    T*& mine;
  };
  mine = std::make_unique<T>().release();
  static thread_local const Owner owner(mine);
}

// Returns the thread's own T, made on the first call and destroyed with the thread. If destructors that run later, such as those of a program's
// static objects in its main thread, call it again, they get one that is never destroyed.
template <typename T>
T& perThread() {
  static XYLEM_THREAD_LOCAL T* mine = nullptr;
  if (mine == nullptr) makePerThread(mine);
  return *mine;
}

}  // namespace xylem
