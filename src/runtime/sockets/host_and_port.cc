#include "runtime/sockets/host_and_port.h"

#include "core/error.h"

namespace xylem {

void throwBadAddress(const std::string& text, const std::string& why) {
  throw Error(ResultCode::kInvalidUsage,
              "cannot use `{}` as an address: {}; expected host:port or [IPv6]:port", text, why);
}

HostAndPort splitAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    throwBadAddress(text, "there is no port");
  std::string host = text.substr(0, colon);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') throwBadAddress(text, "the brackets hold no address");
    host = host.substr(1, host.size() - 2);
  }
  // The system would take it for the end of the name.
  if (host.find('\0') != std::string::npos) throwBadAddress(text, "there is a zero byte in it");
  const std::string port = text.substr(colon + 1);
  if (port.find_first_not_of("0123456789") != std::string::npos || port.size() > 5 || std::stoi(port) > 65535)
    throwBadAddress(text, "the port is not a number from 0 to 65535");
  return {host, std::stoi(port)};
}

}  // namespace xylem
