#pragma once
// An address as people write it, in its parts; nothing is looked up.
//
//   splitAddress("[fe80::1%eth0]:9999")      // {"fe80::1%eth0", 9999}

#include <string>

namespace xylem {

struct HostAndPort {
  std::string host;
  int port = 0;
};

// Throws if there is no host, or the port is not a number from 0 to 65535.
HostAndPort splitAddress(const std::string& text);

// That `text` is no address, and why.
[[noreturn]] void throwBadAddress(const std::string& text, const std::string& why);

}  // namespace xylem
