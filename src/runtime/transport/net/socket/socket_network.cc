#include "runtime/transport/net/socket/socket_network.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "runtime/sockets/connector.h"
#include "runtime/sockets/pending_connections.h"
#include "runtime/sockets/socket.h"
#include "runtime/transport/net/socket/socket_link.h"

namespace xylem::transport {
namespace {

constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 40;

// In Mbit/s.
int speedOf(const std::string& interface) {
  int speed = 0;
  std::ifstream("/sys/class/net/" + interface + "/speed") >> speed;
  return speed > 0 ? speed : kUnknownMbits;
}

// The key by which the two sides authenticate each socket of a link. It proves both that the peer knows the
// job's secret and that it has the link's handle.
sockets::Secret secretOf(const sockets::Secret& job, const sockets::Secret& nonce) {
  std::array<std::uint8_t, 2 * sizeof(sockets::Secret)> both;
  std::memcpy(both.data(), job.data(), job.size());
  std::memcpy(both.data() + job.size(), nonce.data(), nonce.size());
  sockets::Secret secret;
  sockets::hash(secret.data(), secret.size(), both.data(), both.size());
  return secret;
}

// The key in the headers of the link's messages. It detects mistakes; it is no protection against attackers.
std::uint32_t keyOf(const sockets::Secret& nonce) {
  std::uint32_t key;
  sockets::hash(reinterpret_cast<std::uint8_t*>(&key), sizeof key, nonce.data(), nonce.size());
  return key;
}

// The key of the reverse link.
std::uint32_t keyBack(const sockets::Secret& nonce) { return ~keyOf(nonce); }

std::vector<FileDescriptor> duplicates(const std::vector<FileDescriptor>& sockets) {
  std::vector<FileDescriptor> copies;
  for (const FileDescriptor& socket : sockets) {
    copies.emplace_back(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    if (!copies.back())
      throw Error(ResultCode::kSystemError, "cannot use a socket both ways: {}", errnoText(errno));
  }
  return copies;
}

void tune(int socket, const SocketTuning& tuning) {
  sockets::breakWhenSilent(socket, tuning.silence);
  tuning.congestion.settle(socket);
  if (tuning.bufferBytes <= 0) return;
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &tuning.bufferBytes, sizeof tuning.bufferBytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &tuning.bufferBytes, sizeof tuning.bufferBytes);
}

sockets::SocketAddress anyPort(sockets::SocketAddress address) {
  address.setPort(0);
  return address;
}

// A link-local address is reached through our own interface to that link: takes the scope from `from`.
sockets::SocketAddress throughOurLink(sockets::WireAddress to, const sockets::SocketAddress& from) {
  if (sockets::SocketAddress::fromWire(to).linkLocal()) to.scope = from.toWire().scope;
  return sockets::SocketAddress::fromWire(to);
}

// The sockets of a link come together like this: the receiving side listens, the sending side connects as
// many sockets as the handle says, and each socket is authenticated before it is used.
class SocketListener : public NetListener {
 public:
  SocketListener(const sockets::SocketAddress& address, const SocketLayout& layout,
                 const sockets::Secret& jobSecret, const SocketTuning& tuning, const Logger& log);
  const NetHandle& handle() const override { return handle_; }
  std::unique_ptr<NetReceiver> accept() override;
  std::unique_ptr<NetSender> reverseLink() override;

 private:
  // Random, different for each link.
  sockets::Secret nonce_ = sockets::randomSecret();
  SocketLayout layout_;
  SocketTuning tuning_;
  sockets::Acceptor acceptor_;
  NetHandle handle_{};
  std::vector<FileDescriptor> sockets_;
  std::vector<FileDescriptor> back_;  // duplicates of the accepted sockets, for the reverse link
  int missing_;
};

class SocketConnector : public NetConnector {
 public:
  // `from`: the address of the device.
  SocketConnector(const sockets::SocketAddress& from, int helpers, const NetHandle& handle,
                  const sockets::Secret& jobSecret, const SocketTuning& tuning);
  std::unique_ptr<NetSender> advance() override;
  std::unique_ptr<NetReceiver> reverseLink() override;

 private:
  void throwIfRefused(const sockets::Connector& call) const;

  sockets::SocketAddress to_;
  sockets::Secret nonce_{};
  int helpers_;
  SocketTuning tuning_;
  std::vector<sockets::Connector> calls_;
  std::vector<FileDescriptor> back_;  // duplicates of the connected sockets, for the reverse link
};

SocketListener::SocketListener(const sockets::SocketAddress& address, const SocketLayout& layout,
                               const sockets::Secret& jobSecret, const SocketTuning& tuning,
                               const Logger& log)
    : layout_(layout),
      tuning_(tuning),
      acceptor_(anyPort(address), secretOf(jobSecret, nonce_), log, "NET/Socket", tuning.congestion),
      sockets_(static_cast<std::size_t>(layout.sockets)),
      missing_(layout.sockets) {
  handle_ =
      SocketHandle{acceptor_.address().toWire(), nonce_, static_cast<std::uint32_t>(layout.sockets)}.pack();
}

std::unique_ptr<NetReceiver> SocketListener::accept() {
  for (sockets::Accepted& accepted : acceptor_.advance()) {
    const std::uint32_t index = accepted.hello.detail;
    if (accepted.hello.purpose != sockets::Purpose::kData || index >= sockets_.size() || sockets_[index]) {
      acceptor_.pendingConnections().drop(accepted, "it is not one of this link's");
      continue;
    }
    tune(accepted.socket.get(), tuning_);
    sockets_[index] = std::move(accepted.socket);
    --missing_;
  }
  if (missing_ > 0) return nullptr;
  back_ = duplicates(sockets_);
  return std::make_unique<SocketReceiver>(std::move(sockets_), layout_.helpers, keyOf(nonce_));
}

std::unique_ptr<NetSender> SocketListener::reverseLink() {
  return std::make_unique<SocketSender>(std::move(back_), layout_.helpers, keyBack(nonce_));
}

SocketConnector::SocketConnector(const sockets::SocketAddress& from, int helpers, const NetHandle& handle,
                                 const sockets::Secret& jobSecret, const SocketTuning& tuning)
    : helpers_(helpers), tuning_(tuning) {
  const SocketHandle content = SocketHandle::unpack(handle);
  to_ = throughOurLink(content.address, from);
  nonce_ = content.nonce;
  const sockets::Secret secret = secretOf(jobSecret, nonce_);
  sockets::Hello hello;
  hello.purpose = sockets::Purpose::kData;
  for (hello.detail = 0; hello.detail < content.sockets; ++hello.detail) {
    calls_.emplace_back(to_, &from, secret, hello, tuning.congestion);
    throwIfRefused(calls_.back());
  }
}

void SocketConnector::throwIfRefused(const sockets::Connector& call) const {
  if (call.refused())
    throw Error(ResultCode::kRemoteError, "cannot connect to {}: nobody listens there any more", to_.text());
}

std::unique_ptr<NetSender> SocketConnector::advance() {
  bool all = true;
  for (sockets::Connector& call : calls_) {
    all &= call.advance();
    throwIfRefused(call);
  }
  if (!all) return nullptr;
  std::vector<FileDescriptor> sockets;
  for (sockets::Connector& call : calls_) {
    sockets.push_back(call.take());
    tune(sockets.back().get(), tuning_);
  }
  back_ = duplicates(sockets);
  return std::make_unique<SocketSender>(std::move(sockets), helpers_, keyOf(nonce_));
}

std::unique_ptr<NetReceiver> SocketConnector::reverseLink() {
  return std::make_unique<SocketReceiver>(std::move(back_), helpers_, keyBack(nonce_));
}

}  // namespace

SocketOptions SocketOptions::from(const Settings& settings) {
  SocketOptions options;
  options.devices = sockets::matchingInterfaces(sockets::listInterfaces(), settings);
  options.sockets.threads = static_cast<int>(settings.integer(Setting::kSocketNthreads));
  options.sockets.socketsPerThread = static_cast<int>(settings.integer(Setting::kNsocksPerThread));
  options.congestion = settings.text(Setting::kTcpCongestion);
  options.silence = std::chrono::seconds(settings.integer(Setting::kPeerTimeout));
  return options;
}

SocketNetwork::SocketNetwork(SocketOptions options, const sockets::Secret& secret, const Logger& log)
    : options_(std::move(options)), congestion_(options_.congestion), secret_(secret), log_(log) {
  if (!congestion_.chosen().empty())
    log_.info(Subsystem::kInit, "NET/Socket : data goes by {} instead of {} (XYLEM_TCP_CONGESTION)",
              congestion_.chosen(), congestion_.systems());
}

const sockets::Interface& SocketNetwork::interface(int device) const {
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
  properties.maxBytes = kMaxMessageBytes;
  properties.bidirectional = true;
  return properties;
}

std::unique_ptr<NetListener> SocketNetwork::listen(int device) {
  const sockets::Interface& at = interface(device);
  return std::make_unique<SocketListener>(at.address, chooseLayout(options_.sockets, speedOf(at.name)),
                                          secret_, tuning(), log_);
}

std::unique_ptr<NetConnector> SocketNetwork::call(int device, const NetHandle& handle) {
  const sockets::Interface& at = interface(device);
  const int helpers = chooseLayout(options_.sockets, speedOf(at.name)).helpers;
  return std::make_unique<SocketConnector>(at.address, helpers, handle, secret_, tuning());
}

}  // namespace xylem::transport
