#pragma once
// Thread-local variables that are found without a function call. In a shared library each access to an
// ordinary thread_local calls the loader. These use the initial-exec model, whose space is small in libraries
// that are loaded later: only for pointers and numbers.
//
//   XYLEM_THREAD_LOCAL int depth = 0;
//   Members& mine = perThread<Members>();

#define XYLEM_THREAD_LOCAL thread_local constinit __attribute__((tls_model("initial-exec")))

namespace xylem {

template <typename T>
[[gnu::noinline]] T& makePerThread() {
  static thread_local T mine;
  return mine;
}

// Returns the thread's own T, made on the first call and destroyed with the thread.
template <typename T>
T& perThread() {
  static XYLEM_THREAD_LOCAL T* mine = nullptr;
  if (mine == nullptr) mine = &makePerThread<T>();
  return *mine;
}

}  // namespace xylem
