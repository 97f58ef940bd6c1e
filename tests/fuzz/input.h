#pragma once
// The bytes of a fuzzer as numbers and pieces; past their end everything is zero and empty.
//
//   Input input(bytes);
//   const auto rank = input.take<std::int32_t>();
//   while (!input.empty()) feed(input.piece(input.take<std::uint8_t>()));

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace xylem {

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(std::as_bytes(std::span(bytes.data(), bytes.size()))) {}

  bool empty() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }
  template <typename T>
  T take() {
    T value{};
    const auto bytes = piece(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // The next bytes, as many as there are, at most `bytes`.
  std::span<const std::byte> piece(std::size_t bytes) {
    const auto first = bytes_.first(std::min(bytes, bytes_.size()));
    bytes_ = bytes_.subspan(first.size());
    return first;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace xylem
