#pragma once
// What ncclUniqueId holds: where the root listens, and the secret that shows who belongs to the job.
//
//   UniqueId id(root.address(), secret);
//   std::memcpy(ncclId.internal, &id.bytes()[0], UniqueId::kBytes);
//   UniqueId::fromBytes(ncclId.internal).address()

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "bootstrap/socket_address.h"

namespace xylem {

// 256 bits.
using Secret = std::array<std::uint8_t, 32>;

// Random bytes fit for secrets.
void fillRandom(void* data, std::size_t bytes);
Secret randomSecret();

class UniqueId {
 public:
  static constexpr std::size_t kBytes = 128;

  UniqueId(const SocketAddress& root, const Secret& secret) : address_(root), secret_(secret) {}
  // From NCCL_COMM_ID: every rank makes the same one, with a secret that only says which address is meant.
  // Whoever knows the address can join; use exchanged ids where strangers can reach it.
  static UniqueId fromCommId(const std::string& text, int family);
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

}  // namespace xylem
