#include "runtime/sockets/service_thread.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/keep_for_ever.h"

namespace xylem::sockets {

ServiceThread::ServiceThread(const char* name, std::function<void(int stop)> serve)
    : process_(getpid()), stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw Error(ResultCode::kSystemError, "cannot make an eventfd: {}", errnoText(errno));
  try {
    thread_ = std::make_unique<std::thread>(std::move(serve), stop_.get());
  } catch (const std::system_error& error) {
    throw Error(ResultCode::kSystemError, "cannot start the thread {}: {}", name, error.what());
  }
  pthread_setname_np(thread_->native_handle(), name);
}

// A forked child must not even detach its parent's thread, as one of its own may have the same handle.
ServiceThread::~ServiceThread() {
  if (!isOurs()) {
    keepForEver(std::move(thread_));
    return;
  }
  eventfd_write(stop_.get(), 1);
  thread_->join();
}

bool ServiceThread::isOurs() const { return process_ == getpid(); }

}  // namespace xylem::sockets
