#pragma once
// A thread of this process that serves sockets in the background, and ends with its owner. A child of fork has the owner's memory but
// not the thread: nothing waits for it there, and the child makes an owner of its own.
//
//   class Server {
//    public:
//     static std::shared_ptr<Server> ofThisProcess() { return sharedInProcess<Server>(); }
//    private:
//     void serve(int stop);
//     ServiceThread thread_{"xylem-server", [this](int stop) { serve(stop); }};  // the last member
//   };

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/file_descriptor.h"
#include "core/per_process.h"

namespace xylem::sockets {

class ServiceThread {
 public:
  // `serve` returns soon after the descriptor it is given can be read. The kernel shows 15 characters of the name. Throws Error
  // (ncclSystemError) if the process gets no thread.
  ServiceThread(const char* name, std::function<void(int stop)> serve);
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  // False in a child of fork. Locks that the thread uses may be held for ever there.
  bool isOurs() const;

 private:
  const pid_t process_;
  FileDescriptor stop_;
  std::unique_ptr<std::thread> thread_;
};

// The one that all its users in this process share. The first one makes it, and it ends with the last.
template <class Server>
std::shared_ptr<Server> sharedInProcess() {
  struct Shared {
    std::mutex mutex;
    std::weak_ptr<Server> current;
  };
  static constinit PerProcess<Shared> all;
  Shared& shared = all.get();
  const std::lock_guard lock(shared.mutex);
  std::shared_ptr<Server> server = shared.current.lock();
  if (!server) shared.current = server = std::make_shared<Server>();
  return server;
}

}  // namespace xylem::sockets
