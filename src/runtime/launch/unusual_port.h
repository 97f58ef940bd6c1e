#pragma once
// Ports for a rendezvous that nobody could look for beforehand: below those that Linux gives to outgoing
// connections.

#include <cstdint>

namespace xylem {

constexpr int kFirstUnusualPort = 20000;
constexpr int kUnusualPorts = 12000;

// The same for the same number.
constexpr int unusualPort(std::uint64_t number) {
  return kFirstUnusualPort + static_cast<int>(number % kUnusualPorts);
}

}  // namespace xylem
