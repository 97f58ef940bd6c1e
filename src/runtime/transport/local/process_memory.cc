#include "runtime/transport/local/process_memory.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/file_descriptor.h"

namespace xylem::transport {
namespace {

// Returns whether Yama lets only ancestors read a process (ptrace_scope 1). Scope 0 restricts nothing, and a
// process cannot lift the restrictions of scopes 2 and 3.
bool yamaAsksForAncestors() noexcept {
  const FileDescriptor fd(open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char scope = 0;
  return fd && read(fd.get(), &scope, 1) == 1 && scope == '1';
}

// `call` is process_vm_readv or process_vm_writev.
template <typename Call>
bool copyAll(Call call, pid_t process, std::uint64_t address, std::byte* here, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec mine{here, bytes};
    const iovec theirs{reinterpret_cast<void*>(address), bytes};
    const ssize_t n = call(process, &mine, 1, &theirs, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    here += n;
    address += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

void admitReaders() noexcept {
  static const bool once = [] {
    // If the launcher has ended, this process is a child of init, whose descendants are all processes.
    const pid_t launcher = getppid();
    if (launcher > 1 && yamaAsksForAncestors()) prctl(PR_SET_PTRACER, launcher, 0, 0, 0);
    return true;
  }();
  static_cast<void>(once);
}

bool readProcess(pid_t process, std::uint64_t address, std::byte* out, std::size_t bytes) noexcept {
  return copyAll(process_vm_readv, process, address, out, bytes);
}

bool writeProcess(pid_t process, std::uint64_t address, const std::byte* data, std::size_t bytes) noexcept {
  return copyAll(process_vm_writev, process, address, const_cast<std::byte*>(data), bytes);
}

bool canBeRead(const std::byte* first, const std::byte* second) noexcept {
  std::array<std::byte, 2> here;
  const iovec mine{here.data(), here.size()};
  const std::array<iovec, 2> theirs{
      {{const_cast<std::byte*>(first), 1}, {const_cast<std::byte*>(second), 1}}};
  ssize_t n = 0;
  do n = process_vm_readv(getpid(), &mine, 1, theirs.data(), theirs.size(), 0);
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(here.size());
}

}  // namespace xylem::transport
