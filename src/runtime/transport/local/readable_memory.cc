#include "runtime/transport/local/readable_memory.h"

#include <unistd.h>

#include <cstdint>

#include "runtime/transport/local/local_peer_memory.h"

namespace xylem::transport {
namespace {

bool canRead(const std::byte* byte) noexcept {
  std::byte here{};
  return readProcess(getpid(), reinterpret_cast<std::uintptr_t>(byte), &here, 1);
}

}  // namespace

bool ReadableMemory::holds(const std::byte* data, std::size_t bytes) noexcept {
  if (bytes == 0) return true;
  // Multiplied by this, addresses that differ in few bits differ in the highest ones.
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  Stretch& known = read_[reinterpret_cast<std::uintptr_t>(data) * kSpread >> 58];
  static_assert(std::tuple_size_v<decltype(read_)> == std::size_t{1} << (64 - 58));
  if (known.data == data && bytes <= known.bytes) return true;
  if (!canRead(data) || !canRead(data + bytes - 1)) return false;
  known = {data, bytes};
  return true;
}

}  // namespace xylem::transport
