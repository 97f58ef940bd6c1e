#pragma once
// Several hosts on one machine, as far as the network goes: network namespaces joined by a bridge. They are
// not visible outside, and disappear with the object and the processes that were started in them.
//
//   if (const std::string why = Namespaces::unavailable(); !why.empty()) GTEST_SKIP() << why;
//   Namespaces hosts(2);
//   const pid_t child = hosts.start(1, [&] { return serve(hosts.address(1)); });   // in its own process
//   hosts.cut(1);                                                                  // host 1's cable
//
// With root it uses the kernel's namespaces directly, otherwise inside of a user namespace of its own. Needs
// `ip` of iproute2. Every host has the loopback and the interface eth0, 10.213.0.N+1 and fd13::N+1. With more
// cables there are eth1, 10.213.1.N+1 and fd13:0:0:1::N+1, and so on: networks that are not connected.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "core/file_descriptor.h"

namespace xylem {

class Namespaces {
 public:
  // The reason why this machine cannot make them; empty if it can.
  static std::string unavailable();

  explicit Namespaces(int hosts, int cables = 1);

  static std::string interface(int cable) { return "eth" + std::to_string(cable); }
  static std::string address(int host, int cable = 0) {
    return "10.213." + std::to_string(cable) + '.' + std::to_string(host + 1);
  }
  static std::string address6(int host, int cable = 0) {
    return "fd13:0:0:" + std::to_string(cable) + "::" + std::to_string(host + 1);
  }
  int size() const { return static_cast<int>(hosts_.size()); }

  // Starts a child process on this host; the result of `body` is its exit status. The caller waits for it.
  pid_t start(int host, const std::function<int()>& body) const;
  // As above, for a program: `arguments` starts with its name. It shares this process's output.
  pid_t startProgram(int host, const std::vector<std::string>& arguments) const;
  // Moves this process, which has one thread, to this host.
  void enter(int host) const;
  // Runs to the end and returns the exit status, 128 and more for signals.
  int run(int host, const std::function<int()>& body) const;

  // From now on, packets to and from this host get lost on this cable, or arrive again.
  void cut(int host, int cable = 0) const { setLink(host, cable, "down"); }
  void mend(int host, int cable = 0) const { setLink(host, cable, "up"); }

 private:
  void lay(int host, int cable) const;
  void awaitCarrier(int host, int cable) const;
  void setLink(int host, int cable, const std::string& state) const;

  FileDescriptor user_;    // none with root
  FileDescriptor switch_;  // where the bridges are
  std::vector<FileDescriptor> hosts_;
};

// Waits for a child and returns its exit status, 128 and more for signals. Kills it after `seconds`.
int waitFor(pid_t child, int seconds = 60);

}  // namespace xylem
