#pragma once
// What ncclUniqueId holds: where the root listens, and the secret that shows who belongs to the job.
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

namespace xylem {

class UniqueId {
 public:
  static constexpr std::size_t kBytes = 128;

  UniqueId(const SocketAddress& root, const Secret& secret) : address_(root), secret_(secret) {}
  // From NCCL_COMM_ID: every rank makes the same one. Without XYLEM_SECRET, which is mixed into the id's
  // secret, whoever knows the address can join: set it, or exchange ids, where strangers can reach it.
  static UniqueId fromCommId(const std::string& text, int family, const std::string& password = {});
  // Throws if these are not the bytes of an id.
  static UniqueId fromBytes(const void* bytes);

  std::array<std::byte, kBytes> bytes() const;
  const SocketAddress& address() const { return address_; }
  const Secret& secret() const { return secret_; }
  // A number for logs that does not give the secret away.
  std::uint64_t fingerprint() const;

 private:
  UniqueId() = default;
  SocketAddress address_;
  Secret secret_{};
};

// What the ranks of a job that meets at these ids' roots all know, and strangers do not.
Secret jobSecret(std::span<const UniqueId> ids);

}  // namespace xylem
