#pragma once
// Secrets: what the ranks of a job know and nobody else does.
//
//   Secret secret = randomSecret();

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace xylem {

// 256 bits.
using Secret = std::array<std::uint8_t, 32>;

// Random bytes fit for secrets.
void fillRandom(void* data, std::size_t bytes);
Secret randomSecret();

// A cryptographic hash of as many bytes as `out` has.
void hash(std::uint8_t* out, std::size_t outBytes, const void* in, std::size_t inBytes);

// A secret that follows from others: a hash of what it is for and of the parts, told apart by their lengths.
Secret derive(std::string_view purpose, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace xylem
