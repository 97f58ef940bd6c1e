#include "runtime/sockets/abort_flag.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "core/error.h"

namespace xylem::sockets {

AbortFlag::AbortFlag() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_)
    throw Error(ResultCode::kSystemError, "cannot create an event descriptor: {}", errnoText(errno));
}

void AbortFlag::raise() noexcept {
  raised_.store(true, std::memory_order_release);
  eventfd_write(event_.get(), 1);
}

}  // namespace xylem::sockets
