#include "faults/fault_points.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<int> passed{0};
std::atomic<int> target{0};
std::function<void()>& blow() {
  static auto& action = *new std::function<void()>;  // never destroyed: threads run to the end
  return action;
}

// The thread whose points count; none: all threads.
std::atomic<pid_t> counted{0};

void pass() {
  if (const pid_t thread = counted.load(); thread != 0 && thread != gettid()) return;
  if (passed.fetch_add(1) + 1 == target.load()) blow()();
}

template <typename Function>
Function* systems(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

namespace xylem::testing {

void strikeAt(int point, int signal) {
  callAt(point, [signal] { kill(getpid(), signal); });
  counted = 0;
}

void callAt(int point, std::function<void()> action) {
  target = 0;
  counted = gettid();
  blow() = std::move(action);
  passed = 0;
  target = point;
}

int faultPointsPassed() { return passed; }

}  // namespace xylem::testing

extern "C" {

ssize_t send(int fd, const void* data, size_t bytes, int flags) {
  static auto* const real = systems<ssize_t(int, const void*, size_t, int)>("send");
  pass();
  return real(fd, data, bytes, flags);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static auto* const real = systems<ssize_t(int, const msghdr*, int)>("sendmsg");
  pass();
  return real(fd, message, flags);
}

ssize_t recv(int fd, void* data, size_t bytes, int flags) {
  static auto* const real = systems<ssize_t(int, void*, size_t, int)>("recv");
  const ssize_t received = real(fd, data, bytes, flags);
  if (received > 0) pass();
  return received;
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static auto* const real = systems<ssize_t(int, msghdr*, int)>("recvmsg");
  const ssize_t received = real(fd, message, flags);
  if (received > 0) pass();
  return received;
}

int connect(int fd, const sockaddr* address, socklen_t bytes) {
  static auto* const real = systems<int(int, const sockaddr*, socklen_t)>("connect");
  pass();
  return real(fd, address, bytes);
}

int accept4(int fd, sockaddr* address, socklen_t* bytes, int flags) {
  static auto* const real = systems<int(int, sockaddr*, socklen_t*, int)>("accept4");
  const int accepted = real(fd, address, bytes, flags);
  if (accepted >= 0) pass();
  return accepted;
}

}  // extern "C"
