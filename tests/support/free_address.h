#pragma once
// An address for ranks to meet at. Its port was free a moment ago, and no outgoing connection takes it before
// it is used, as the system chooses ports for these from a higher range.
//
//   setenv("NCCL_COMM_ID", freeAddress("127.0.0.1").text().c_str(), 1);

#include <fmt/core.h>

#include <random>

#include "core/error.h"
#include "runtime/sockets/socket.h"

namespace xylem::testing {

inline sockets::SocketAddress freeAddress(const std::string& host) {
  constexpr unsigned kFirstPort = 20000, kPorts = 12000;
  std::random_device random;
  for (int tries = 1;; ++tries) {
    const sockets::SocketAddress address =
        sockets::SocketAddress::parse(fmt::format("{}:{}", host, kFirstPort + random() % kPorts));
    try {
      sockets::listenTcp(address);
      return address;
    } catch (const Error&) {
      if (tries == 100) throw;
    }
  }
}

}  // namespace xylem::testing
