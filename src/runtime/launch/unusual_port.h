#pragma once
// Ports for the rendezvous of a job that all its processes compute from one number, without asking whether
// they are free: below those that Linux gives to outgoing connections.

#include <cstdint>

namespace xylem::launch {

constexpr int kFirstUnusualPort = 20000;
constexpr int kUnusualPorts = 12000;

// Returns the same port for the same number.
constexpr int unusualPort(std::uint64_t number) {
  return kFirstUnusualPort + static_cast<int>(number % kUnusualPorts);
}

}  // namespace xylem::launch
