#pragma once
// How the sockets of a link come together: the receiving side listens, the sending side calls as many times
// as the handle says, and each socket proves that it belongs there before it is used.
//
//   SocketListener listener(address, layout, secret, tuning, log);
//   SocketCaller caller(address, helpers, listener.handle(), secret, tuning);
//   while (!receiver) receiver = listener.accept();       // and, on the other side,
//   while (!sender) sender = caller.advance();

#include <chrono>
#include <optional>
#include <vector>

#include "runtime/transport/net/network.h"
#include "runtime/transport/net/socket_layout.h"
#include "runtime/sockets/acceptor.h"
#include "runtime/sockets/caller.h"

namespace xylem {

struct SocketTuning {
  std::chrono::seconds silence{20};
  int bufferBytes = 0;
  Congestion congestion;
};

class SocketListener : public NetListener {
 public:
  SocketListener(const SocketAddress& address, const SocketLayout& layout, const Secret& jobSecret,
                 const SocketTuning& tuning, const Logger& log);
  const NetHandle& handle() const override { return handle_; }
  std::unique_ptr<NetReceiver> accept() override;
  std::unique_ptr<NetSender> wayBack() override;

 private:
  // Random, for this link alone.
  Secret nonce_ = randomSecret();
  SocketLayout layout_;
  SocketTuning tuning_;
  Acceptor acceptor_;
  NetHandle handle_{};
  std::vector<FileDescriptor> sockets_;
  std::vector<FileDescriptor> back_;  // the same sockets, once they are accepted
  int missing_;
};

class SocketCaller : public NetCaller {
 public:
  // `from`: the address of the device.
  SocketCaller(const SocketAddress& from, int helpers, const NetHandle& handle, const Secret& jobSecret,
               const SocketTuning& tuning);
  std::unique_ptr<NetSender> advance() override;
  std::unique_ptr<NetReceiver> wayBack() override;

 private:
  void throwIfRefused(const Caller& call) const;

  SocketAddress to_;
  Secret nonce_{};
  int helpers_;
  SocketTuning tuning_;
  std::vector<Caller> calls_;
  std::vector<FileDescriptor> back_;  // the same sockets, once they are connected
};

}  // namespace xylem
