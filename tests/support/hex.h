#pragma once
// Bytes as text that a process can pass to another one: in a variable, or on a command line.
//
//   const std::string text = hexOf(handle.reserved);
//   bytesOf(text, handle.reserved);     // over there

#include <cstddef>
#include <string>
#include <string_view>

namespace xylem::testing {

template <typename Byte, std::size_t N>
std::string hexOf(const Byte (&bytes)[N]) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const Byte byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// `text` begins with N pairs of digits.
template <typename Byte, std::size_t N>
void bytesOf(std::string_view text, Byte (&bytes)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    bytes[i] = static_cast<Byte>(std::stoi(std::string(text.substr(2 * i, 2)), nullptr, 16));
}

}  // namespace xylem::testing
