#pragma once
// Secrets shared by the ranks of a job, which prove with them that they belong to it, and hashes.
//
//   const Secret secret = randomSecret();
//   const Secret ofData = derive("data links", {std::as_bytes(std::span(secret))});

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace xylem::sockets {

// 256 bits.
using Secret = std::array<std::uint8_t, 32>;

// Cryptographically secure random bytes.
void fillRandom(void* data, std::size_t bytes);
Secret randomSecret();

// A cryptographic hash of `outBytes` bytes.
void hash(std::uint8_t* out, std::size_t outBytes, const void* in, std::size_t inBytes);

// A secret derived from others: a hash of its purpose and of the parts, each with its length.
Secret derive(std::string_view purpose, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace xylem::sockets
