#pragma once
// What every thread has one of, found without a call: a shared library has to ask the loader for the place of
// an ordinary thread_local, each time. Only for pointers and numbers, as libraries that are loaded later have
// little room for them.
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

// Made when the thread first asks for it, and destroyed with the thread.
template <typename T>
T& perThread() {
  static XYLEM_THREAD_LOCAL T* mine = nullptr;
  if (mine == nullptr) mine = &makePerThread<T>();
  return *mine;
}

}  // namespace xylem
