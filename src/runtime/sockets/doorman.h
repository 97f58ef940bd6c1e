#pragma once
// Sees to the receptions of this process while their owners do something else: a communicator that computes
// does not look at its doors. One thread for all of them, which sleeps until somebody knocks, then gives the
// owner a moment to see to it himself, and takes a small share of one core, however many strangers there are:
// the others wait in the kernel.
//
//   const Watched watched(acceptor.reception());     // for as long as this lives
//
// Who turns out to belong to the job waits in the reception until its owner asks.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/sockets/reception.h"

namespace xylem {

class Doorman {
 public:
  Doorman();
  ~Doorman();
  Doorman(const Doorman&) = delete;
  Doorman& operator=(const Doorman&) = delete;

  // The one of this process; there is one as long as somebody needs it.
  static std::shared_ptr<Doorman> ofThisProcess();
  // A number for `leave`.
  std::uint64_t watch(Reception& reception);
  // When it returns, the reception is not looked at any more.
  void leave(std::uint64_t number);

 private:
  void serve();
  bool look(std::chrono::steady_clock::duration atMost);
  bool stopsWithin(std::chrono::milliseconds time) const;

  const int process_;
  FileDescriptor stop_;
  FileDescriptor epoll_;
  std::mutex mutex_;  // of what follows; held while one reception is looked at
  std::map<std::uint64_t, Reception*> receptions_;
  std::uint64_t numbers_ = 0;
  std::uint64_t last_ = 0;  // that was looked at
  std::thread thread_;
};

class Watched {
 public:
  explicit Watched(Reception& reception)
      : doorman_(Doorman::ofThisProcess()), number_(doorman_->watch(reception)) {}
  ~Watched() { doorman_->leave(number_); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  std::shared_ptr<Doorman> doorman_;
  std::uint64_t number_;
};

}  // namespace xylem
