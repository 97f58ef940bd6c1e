#include "runtime/bootstrap/gathered.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/error.h"

namespace xylem {

std::vector<std::byte> blockOf(std::span<const std::byte> mine) {
  const std::uint64_t size = mine.size();
  std::vector<std::byte> said(sizeof size + mine.size());
  std::memcpy(said.data(), &size, sizeof size);
  std::copy(mine.begin(), mine.end(), said.begin() + sizeof size);
  return said;
}

std::vector<std::vector<std::byte>> blocksOf(std::span<const std::byte> heard, std::span<const int> members,
                                             std::size_t limit, const char* what) {
  std::vector<std::vector<std::byte>> all;
  for (const int member : members) {
    std::uint64_t size = 0;
    if (heard.size() >= sizeof size) std::memcpy(&size, heard.data(), sizeof size);
    if (heard.size() < sizeof size || size > limit || size > heard.size() - sizeof size)
      throw Error(ResultCode::kRemoteError, "rank {} announces {} bytes in {}; {} are there, {} are allowed",
                  member, size, what, heard.size(), limit);
    const auto block = heard.subspan(sizeof size, size);
    all.emplace_back(block.begin(), block.end());
    heard = heard.subspan(sizeof size + size);
  }
  if (!heard.empty())
    throw Error(ResultCode::kRemoteError, "{} bytes in {} are nobody's: do all ranks run the same version?",
                heard.size(), what);
  return all;
}

std::vector<SocketAddress> addressesOf(std::span<const std::byte> told, std::size_t ranks) {
  if (told.size() != sizeof(WireAddress) && told.size() != ranks * sizeof(WireAddress))
    throw Error(ResultCode::kInternalError, "the root sent addresses of {} bytes", told.size());
  std::vector<SocketAddress> addresses;
  for (; !told.empty(); told = told.subspan(sizeof(WireAddress))) {
    WireAddress wire;
    std::memcpy(&wire, told.data(), sizeof wire);
    addresses.push_back(SocketAddress::fromWire(wire));
  }
  return addresses;
}

}  // namespace xylem
