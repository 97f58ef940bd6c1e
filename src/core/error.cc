#include "core/error.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <system_error>

namespace xylem {
namespace {

// The process's limit of a resource, if it has one.
std::optional<rlim_t> limitOf(int resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::string messageOf(int errnum) { return std::generic_category().message(errnum); }

// Says that the address space is limited; empty if it is not.
std::string addressSpaceText() {
  const std::optional<rlim_t> bytes = limitOf(RLIMIT_AS);
  return bytes ? fmt::format(
                     "; this process may have {} KiB of address space (ulimit -v): raise that, or use fewer "
                     "ranks or "
                     "smaller buffers",
                     *bytes >> 10)
               : "";
}

}  // namespace

std::string toString(const SourceLocation& location) {
  return location.line > 0 ? fmt::format("{}:{}", location.file, location.line) : location.file;
}

std::string errnoText(int errnum) {
  if (errnum == ENOMEM) return messageOf(errnum) + addressSpaceText();
  if (errnum == ENFILE)
    return messageOf(errnum) + "; the whole machine has too many files open (sysctl fs.file-max): raise that";
  const std::optional<rlim_t> files = errnum == EMFILE ? limitOf(RLIMIT_NOFILE) : std::nullopt;
  if (!files) return messageOf(errnum);
  return fmt::format("{}; this process may open {} (ulimit -n): raise that, for example with `ulimit -n {}`",
                     messageOf(errnum), *files, std::max<rlim_t>(4096, 4 * *files));
}

std::string startFailureText(int errnum) {
  if (errnum != EAGAIN) return errnoText(errnum);
  const std::optional<rlim_t> processes = limitOf(RLIMIT_NPROC);
  return fmt::format(
      "{}; {} (ulimit -u), and a container its own limit (pids.max): raise that, or use fewer ranks",
      messageOf(errnum),
      processes ? fmt::format("this user may have {} processes and threads", *processes)
                : "this user has no limit of processes and threads");
}

std::string outOfMemoryText() { return "out of memory" + addressSpaceText(); }

Error errorOf(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
    return Error(ResultCode::kSystemError, "{}", outOfMemoryText());
  const auto* refused = dynamic_cast<const std::system_error*>(&exception);
  if (refused != nullptr && refused->code() == std::errc::resource_unavailable_try_again)
    return Error(ResultCode::kSystemError, "cannot start a thread: {}", startFailureText(EAGAIN));
  return Error(ResultCode::kInternalError, "{}", exception.what());
}

}  // namespace xylem
