#pragma once
// Accepts connections in the background: a communicator that computes does not poll its listening sockets,
// and connections to them would have to wait. One thread per process moves on all registered
// PendingConnections.
//
//   const BackgroundAccept accepting(acceptor.pendingConnections());     // for as long as this lives
//
// The thread sleeps until a connection attempt arrives, then first leaves it to the owner for a moment. It
// takes a small share of one core, however many attempts there are: the others wait in the kernel.
// Connections that have proven to belong to the job are kept until their owner takes them.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "core/file_descriptor.h"
#include "runtime/sockets/pending_connections.h"
#include "runtime/sockets/service_thread.h"

namespace xylem::sockets {

class AcceptThread {
 public:
  AcceptThread();
  static std::shared_ptr<AcceptThread> ofThisProcess() { return sharedInProcess<AcceptThread>(); }

  // Returns the number that `remove` takes.
  std::uint64_t add(PendingConnections& connections);
  // Once it has returned, the thread no longer uses the connections.
  void remove(std::uint64_t number);

 private:
  void serve(int stop);
  bool advanceAll(std::chrono::steady_clock::duration atMost);

  FileDescriptor epoll_;
  std::mutex mutex_;  // guards the members below; held while the connections of one owner are moved on
  std::map<std::uint64_t, PendingConnections*> owners_;
  std::uint64_t numbers_ = 0;
  std::uint64_t last_ = 0;  // the owner that was served last
  ServiceThread thread_;
};

// Registers connections with the process's AcceptThread for its own lifetime.
class BackgroundAccept {
 public:
  explicit BackgroundAccept(PendingConnections& connections)
      : thread_(AcceptThread::ofThisProcess()), number_(thread_->add(connections)) {}
  ~BackgroundAccept() { thread_->remove(number_); }
  BackgroundAccept(const BackgroundAccept&) = delete;
  BackgroundAccept& operator=(const BackgroundAccept&) = delete;

 private:
  std::shared_ptr<AcceptThread> thread_;
  std::uint64_t number_;
};

}  // namespace xylem::sockets
