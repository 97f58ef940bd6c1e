#include "runtime/sockets/secret.h"

#include <sodium.h>

#include "core/error.h"

namespace xylem::sockets {
namespace {

void startSodium() {
  static const int status = sodium_init();
  if (status < 0)
    throw Error(ResultCode::kSystemError, "libsodium cannot start: no source of random numbers");
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

void hash(std::uint8_t* out, std::size_t outBytes, const void* in, std::size_t inBytes) {
  startSodium();
  crypto_generichash(out, outBytes, static_cast<const unsigned char*>(in), inBytes, nullptr, 0);
}

Secret derive(std::string_view purpose, std::initializer_list<std::span<const std::byte>> parts) {
  startSodium();
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, sizeof(Secret));
  const auto add = [&](std::span<const std::byte> part) {
    const std::uint64_t bytes = part.size();
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&bytes), sizeof bytes);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  };
  add(std::as_bytes(std::span(purpose)));
  for (const auto& part : parts) add(part);
  Secret secret;
  crypto_generichash_final(&state, secret.data(), secret.size());
  return secret;
}

}  // namespace xylem::sockets
