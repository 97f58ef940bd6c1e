#pragma once
// Two hosts on this machine, as far as the network goes: network namespaces with a name, joined by a cable of
// two veth ends, with an interface eth0 each. They are removed with their owner. Needs root, and `ip` of
// iproute2.
//
//   HostPair hosts(folder);                     // or HostPair(folder, "reno")
//   hosts.inside(1, {"program", "argument"});   // the command line that runs it on the second host

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::bench {

class HostPair {
 public:
  // `folder` is for the output of tools. `congestion` is TCP's congestion control on both hosts; empty: the
  // machine's.
  explicit HostPair(std::string folder, const std::string& congestion = {});
  ~HostPair();
  HostPair(const HostPair&) = delete;
  HostPair& operator=(const HostPair&) = delete;

  static std::string address(int host);
  const std::string& name(int host) const { return names_[static_cast<std::size_t>(host)]; }

  // The command line also gives the program the host's name as the name of the machine: libraries tell hosts
  // apart by it.
  std::vector<std::string> inside(int host, const std::vector<std::string>& words) const;
  // A program that starts remote commands for MPI's launchers: HOST COMMAND...
  const std::string& launcher() const { return launcher_; }
  // TCP's congestion control for sockets that do not choose one.
  std::string congestion() const;
  // Bytes that have gone over the cable, in both directions together.
  std::uint64_t movedBytes() const;

 private:
  void ip(const std::string& words) const;
  void remove() noexcept;

  const std::string folder_, launcher_;
  std::vector<std::string> names_;
};

}  // namespace xylem::bench
