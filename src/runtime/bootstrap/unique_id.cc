#include "runtime/bootstrap/unique_id.h"

#include <cstring>
#include <vector>

#include "core/error.h"

namespace xylem::bootstrap {
namespace {

struct Layout {
  char magic[8];
  sockets::WireAddress address;
  sockets::Secret secret;
  std::uint8_t check[16];
  std::uint8_t unused[48];
};
static_assert(sizeof(Layout) == UniqueId::kBytes);

constexpr char kMagic[8] = {'x', 'y', 'l', 'e', 'm', 'i', 'd', '1'};

}  // namespace

UniqueId UniqueId::fromCommId(const std::string& text, int family, const std::string& password) {
  UniqueId id;
  id.address_ = sockets::SocketAddress::parse(text, family);
  if (id.address_.port() == 0)
    throw Error(ResultCode::kInvalidUsage, "NCCL_COMM_ID={}: the port must not be 0", text);
  id.secret_ = sockets::derive("xylem NCCL_COMM_ID",
                               {std::as_bytes(std::span(text)), std::as_bytes(std::span(password))});
  return id;
}

UniqueId UniqueId::fromBytes(const void* bytes) {
  Layout layout;
  std::memcpy(&layout, bytes, sizeof layout);
  std::uint8_t check[sizeof layout.check];
  sockets::hash(check, sizeof check, &layout, offsetof(Layout, check));
  if (std::memcmp(layout.magic, kMagic, sizeof kMagic) != 0 ||
      std::memcmp(check, layout.check, sizeof check) != 0)
    throw Error(ResultCode::kInvalidArgument,
                "these are not the bytes of an id; pass on all 128 bytes that ncclGetUniqueId stored");
  UniqueId id;
  id.address_ = sockets::SocketAddress::fromWire(layout.address);
  id.secret_ = layout.secret;
  return id;
}

std::array<std::byte, UniqueId::kBytes> UniqueId::bytes() const {
  Layout layout{};
  std::memcpy(layout.magic, kMagic, sizeof kMagic);
  layout.address = address_.toWire();
  layout.secret = secret_;
  sockets::hash(layout.check, sizeof layout.check, &layout, offsetof(Layout, check));
  std::array<std::byte, kBytes> out;
  std::memcpy(out.data(), &layout, sizeof layout);
  return out;
}

sockets::Secret jobSecret(std::span<const UniqueId> ids) {
  std::vector<std::byte> all;
  for (const UniqueId& id : ids) {
    const auto bytes = std::as_bytes(std::span(id.secret()));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return sockets::derive("xylem job", {all});
}

std::uint64_t UniqueId::fingerprint() const {
  std::uint8_t digest[16];
  sockets::hash(digest, sizeof digest, secret_.data(), secret_.size());
  std::uint64_t number = 0;
  std::memcpy(&number, digest, sizeof number);
  return number;
}

}  // namespace xylem::bootstrap
