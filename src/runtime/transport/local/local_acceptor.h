#pragma once
// Where one rank accepts the connections of its host, for all transports that connect ranks of one host.
// Callers show that they belong to the job (runtime/sockets/reception.h); those that nobody has asked for yet are kept
// until somebody does.
//
//   LocalAcceptor acceptor(rank, secret, log);
//   if (FileDescriptor socket = acceptor.claim({peer, purpose, kind})) ...
//   else poll for acceptor.fd() to become readable
//
// Any thread may call anything here.

#include <cstdint>
#include <map>
#include <mutex>
#include <queue>
#include <string_view>
#include <tuple>

#include "runtime/transport/local/unix_socket.h"
#include "runtime/sockets/doorman.h"

namespace xylem {

// Which transport a connection is for; both sides choose it alike.
enum class LocalKind : std::uint8_t { kP2p = 1, kShm = 2 };

// What tells the connections of a rank apart.
struct LocalKey {
  int peer = -1;
  std::uint32_t purpose = 0;
  LocalKind kind = LocalKind::kShm;

  // As it stands in the caller's hello.
  static LocalKey of(const Hello& hello);
  std::uint32_t detail() const { return purpose << 8 | static_cast<std::uint32_t>(kind); }
  auto operator<=>(const LocalKey&) const = default;
};

class LocalAcceptor {
 public:
  // `log` must outlive this.
  LocalAcceptor(int rank, const Secret& secret, const Logger& log);

  int rank() const { return rank_; }
  const Secret& secret() const { return secret_; }
  const LocalName& name() const { return listener_.name(); }
  // The longest waiting caller with this key, or none yet. Moves the others on.
  FileDescriptor claim(const LocalKey& key);
  // Whether claim would give one.
  bool has(const LocalKey& key) const;
  // Readable when there is something to move on.
  int fd() const { return reception_.fd(); }
  // This rank gives up: tells whoever is not claimed yet, and whoever comes.
  void abort(int culprit, std::string_view text);

 private:
  const int rank_;
  const Secret secret_;
  LocalListener listener_;
  Reception reception_;
  Watched watched_{reception_};
  mutable std::mutex mutex_;  // of what follows
  std::map<LocalKey, std::queue<FileDescriptor>> callers_;
};

}  // namespace xylem
