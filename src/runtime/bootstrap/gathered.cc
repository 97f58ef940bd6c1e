#include "runtime/bootstrap/gathered.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/error.h"

namespace xylem::bootstrap {

std::vector<std::byte> blockOf(std::span<const std::byte> mine) {
  const std::uint64_t size = mine.size();
  std::vector<std::byte> block(sizeof size + mine.size());
  std::memcpy(block.data(), &size, sizeof size);
  std::copy(mine.begin(), mine.end(), block.begin() + sizeof size);
  return block;
}

std::vector<std::vector<std::byte>> blocksOf(std::span<const std::byte> blocks, std::span<const int> members,
                                             std::size_t limit, const char* what) {
  std::vector<std::vector<std::byte>> all;
  for (const int member : members) {
    std::uint64_t size = 0;
    if (blocks.size() >= sizeof size) std::memcpy(&size, blocks.data(), sizeof size);
    if (blocks.size() < sizeof size || size > limit || size > blocks.size() - sizeof size)
      throw Error(ResultCode::kRemoteError, "rank {} announces {} bytes in {}; {} are there, {} are allowed",
                  member, size, what, blocks.size(), limit);
    const auto bytes = blocks.subspan(sizeof size, size);
    all.emplace_back(bytes.begin(), bytes.end());
    blocks = blocks.subspan(sizeof size + size);
  }
  if (!blocks.empty())
    throw Error(ResultCode::kRemoteError, "{} bytes in {} are nobody's: do all ranks run the same version?",
                blocks.size(), what);
  return all;
}

std::vector<sockets::SocketAddress> addressesOf(std::span<const std::byte> bytes, std::size_t ranks) {
  if (bytes.size() != sizeof(sockets::WireAddress) && bytes.size() != ranks * sizeof(sockets::WireAddress))
    throw Error(ResultCode::kInternalError, "the root sent addresses of {} bytes", bytes.size());
  std::vector<sockets::SocketAddress> addresses;
  for (; !bytes.empty(); bytes = bytes.subspan(sizeof(sockets::WireAddress))) {
    sockets::WireAddress wire;
    std::memcpy(&wire, bytes.data(), sizeof wire);
    addresses.push_back(sockets::SocketAddress::fromWire(wire));
  }
  return addresses;
}

}  // namespace xylem::bootstrap
