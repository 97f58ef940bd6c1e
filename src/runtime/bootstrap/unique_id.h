#pragma once
// The content of an ncclUniqueId: the address where the root listens, and the secret by which ranks prove
// that they belong to the job.
//
//   UniqueId id(root.address(), secret);
//   std::memcpy(ncclId.internal, &id.bytes()[0], UniqueId::kBytes);
//   UniqueId::fromBytes(ncclId.internal).address()

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/sockets/secret.h"
#include "runtime/sockets/socket_address.h"

namespace xylem::bootstrap {

class UniqueId {
 public:
  static constexpr std::size_t kBytes = 128;

  UniqueId(const sockets::SocketAddress& root, const sockets::Secret& secret)
      : address_(root), secret_(secret) {}
  // From NCCL_COMM_ID: every rank makes the same id. The secret follows from the address and `password`
  // (XYLEM_SECRET). Without a password any process that can reach the address can join: set it, or exchange
  // ids, on networks that are open to others.
  static UniqueId fromCommId(const std::string& text, int family, const std::string& password = {});
  // Throws if these are not the bytes of an id.
  static UniqueId fromBytes(const void* bytes);

  std::array<std::byte, kBytes> bytes() const;
  const sockets::SocketAddress& address() const { return address_; }
  const sockets::Secret& secret() const { return secret_; }
  // A number that identifies the id in logs and does not disclose the secret.
  std::uint64_t fingerprint() const;

 private:
  UniqueId() = default;
  sockets::SocketAddress address_;
  sockets::Secret secret_{};
};

// The secret of the job whose ranks check in at the roots of these ids.
sockets::Secret jobSecret(std::span<const UniqueId> ids);

}  // namespace xylem::bootstrap
