#include "runtime/transport/net/socket_network.h"

#include <fstream>

namespace xylem {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 40;

int speedOf(const std::string& interface) {
  int speed = 0;
  std::ifstream("/sys/class/net/" + interface + "/speed") >> speed;
  return speed > 0 ? speed : kUnknownMbits;
}

}  // namespace

SocketOptions SocketOptions::from(const Settings& settings) {
  SocketOptions options;
  options.devices = matchingInterfaces(listInterfaces(), settings);
  options.sockets.threads = static_cast<int>(settings.integer(Setting::kSocketNthreads));
  options.sockets.socketsPerThread = static_cast<int>(settings.integer(Setting::kNsocksPerThread));
  options.congestion = settings.text(Setting::kTcpCongestion);
  options.silence = std::chrono::seconds(settings.integer(Setting::kPeerTimeout));
  return options;
}

SocketNetwork::SocketNetwork(SocketOptions options, const Secret& secret, const Logger& log)
    : options_(std::move(options)), congestion_(options_.congestion), secret_(secret), log_(log) {
  if (!congestion_.chosen().empty())
    log_.info(Subsystem::kInit, "NET/Socket : data goes by {} instead of {} (XYLEM_TCP_CONGESTION)",
              congestion_.chosen(), congestion_.systems());
}

const Interface& SocketNetwork::interface(int device) const {
  if (device < 0 || device >= deviceCount())
    throw Error(ResultCode::kInternalError, "there is no network device {}; this host has {}", device,
                deviceCount());
  return options_.devices[static_cast<std::size_t>(device)];
}

NetProperties SocketNetwork::properties(int device) const {
  NetProperties properties;
  properties.name = interface(device).name;
  properties.guid = static_cast<std::uint64_t>(device);
  properties.speed = speedOf(properties.name);
  properties.maxLinks = 65536;
  properties.maxBytes = kMostBytes;
  properties.wayBack = true;
  return properties;
}

std::unique_ptr<NetListener> SocketNetwork::listen(int device) {
  const Interface& at = interface(device);
  return std::make_unique<SocketListener>(at.address, chooseLayout(options_.sockets, speedOf(at.name)),
                                          secret_, tuning(), log_);
}

std::unique_ptr<NetCaller> SocketNetwork::call(int device, const NetHandle& handle) {
  const Interface& at = interface(device);
  return std::make_unique<SocketCaller>(at.address, chooseLayout(options_.sockets, speedOf(at.name)).helpers,
                                        handle, secret_, tuning());
}

}  // namespace xylem
