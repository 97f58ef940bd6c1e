#include "bootstrap/unique_id.h"

#include <sodium.h>

#include <cstring>

#include "core/error.h"

namespace xylem {
namespace {

struct Layout {
  char magic[8];
  WireAddress address;
  Secret secret;
  std::uint8_t check[16];
  std::uint8_t unused[48];
};
static_assert(sizeof(Layout) == UniqueId::kBytes);

constexpr char kMagic[8] = {'x', 'y', 'l', 'e', 'm', 'i', 'd', '1'};

void startSodium() {
  static const int status = sodium_init();
  if (status < 0)
    throw Error(ResultCode::kSystemError, "libsodium cannot start: no source of random numbers");
}

void hash(std::uint8_t* out, std::size_t outBytes, const void* in, std::size_t inBytes) {
  startSodium();
  crypto_generichash(out, outBytes, static_cast<const unsigned char*>(in), inBytes, nullptr, 0);
}

}  // namespace

void fillRandom(void* data, std::size_t bytes) {
  startSodium();
  randombytes_buf(data, bytes);
}

Secret randomSecret() {
  Secret secret;
  fillRandom(secret.data(), secret.size());
  return secret;
}

UniqueId UniqueId::fromCommId(const std::string& text, int family) {
  UniqueId id;
  id.address_ = SocketAddress::parse(text, family);
  if (id.address_.port() == 0)
    throw Error(ResultCode::kInvalidUsage, "NCCL_COMM_ID={}: the port must not be 0", text);
  const std::string context = "xylem NCCL_COMM_ID " + text;
  hash(id.secret_.data(), id.secret_.size(), context.data(), context.size());
  return id;
}

UniqueId UniqueId::fromBytes(const void* bytes) {
  Layout layout;
  std::memcpy(&layout, bytes, sizeof layout);
  std::uint8_t check[sizeof layout.check];
  hash(check, sizeof check, &layout, offsetof(Layout, check));
  if (std::memcmp(layout.magic, kMagic, sizeof kMagic) != 0 ||
      std::memcmp(check, layout.check, sizeof check) != 0)
    throw Error(ResultCode::kInvalidArgument,
                "these are not the bytes of an id; pass on all 128 bytes that ncclGetUniqueId stored");
  UniqueId id;
  id.address_ = SocketAddress::fromWire(layout.address);
  id.secret_ = layout.secret;
  return id;
}

std::array<std::byte, UniqueId::kBytes> UniqueId::bytes() const {
  Layout layout{};
  std::memcpy(layout.magic, kMagic, sizeof kMagic);
  layout.address = address_.toWire();
  layout.secret = secret_;
  hash(layout.check, sizeof layout.check, &layout, offsetof(Layout, check));
  std::array<std::byte, kBytes> out;
  std::memcpy(out.data(), &layout, sizeof layout);
  return out;
}

std::uint64_t UniqueId::fingerprint() const {
  std::uint8_t digest[16];
  hash(digest, sizeof digest, secret_.data(), secret_.size());
  std::uint64_t number = 0;
  std::memcpy(&number, digest, sizeof number);
  return number;
}

}  // namespace xylem
