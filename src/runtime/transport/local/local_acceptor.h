#pragma once
// Accepts the connections from other ranks of the host, for both transports within a host. A connecting rank
// shows that it belongs to the job (runtime/sockets/handshake.h); its connection is kept until this
// rank claims it.
//
//   LocalAcceptor acceptor(rank, secret, log);
//   if (FileDescriptor socket = acceptor.claim({peer, purpose, kind})) ...
//   else poll for acceptor.fd() to become readable
//
// Any thread may call any function.

#include <cstdint>
#include <map>
#include <mutex>
#include <queue>
#include <string_view>
#include <tuple>

#include "runtime/sockets/accept_thread.h"
#include "runtime/transport/local/unix_socket.h"

namespace xylem::transport {

// The transport that a connection is for; both sides choose the same.
enum class LocalKind : std::uint8_t { kP2p = 1, kShm = 2 };

// Tells the connections of a rank apart.
struct LocalKey {
  int peer = -1;
  std::uint32_t purpose = 0;
  LocalKind kind = LocalKind::kShm;

  // The key in the hello of a connecting rank.
  static LocalKey of(const sockets::Hello& hello);
  // Purpose and kind as they stand in Hello::detail.
  std::uint32_t detail() const { return purpose << 8 | static_cast<std::uint32_t>(kind); }
  auto operator<=>(const LocalKey&) const = default;
};

class LocalAcceptor {
 public:
  // `log` must outlive this.
  LocalAcceptor(int rank, const sockets::Secret& secret, const Logger& log);

  int rank() const { return rank_; }
  const sockets::Secret& secret() const { return secret_; }
  const LocalName& name() const { return listener_.name(); }
  // The oldest waiting connection with this key; an invalid descriptor if there is none yet. Goes on with
  // the handshakes of all others.
  FileDescriptor claim(const LocalKey& key);
  // Returns whether claim() would return a connection.
  bool has(const LocalKey& key) const;
  // Readable if a call of claim() can make progress.
  int fd() const { return pendingConnections_.fd(); }
  // Tells all ranks whose connections are not claimed, now or later, that this rank gives up.
  void abort(int failedRank, std::string_view text);

 private:
  const int rank_;
  const sockets::Secret secret_;
  LocalListener listener_;
  sockets::PendingConnections pendingConnections_;
  sockets::BackgroundAccept watched_{pendingConnections_};
  mutable std::mutex mutex_;  // guards callers_
  std::map<LocalKey, std::queue<FileDescriptor>> callers_;
};

}  // namespace xylem::transport
