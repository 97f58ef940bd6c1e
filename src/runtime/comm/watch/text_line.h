#pragma once
// One line of text of bounded length, made without memory, locks or locale, so that signal handlers can use
// it. Text that does not fit is cut off.
//
//   TextLine line;
//   line.add("rank ").add(3).add(" waits");
//   write(2, line.text().data(), line.text().size());

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace xylem::comm {

class TextLine {
 public:
  TextLine& add(std::string_view text) {
    const std::size_t fits = std::min(text.size(), text_.size() - used_);
    std::copy_n(text.data(), fits, text_.data() + used_);
    used_ += fits;
    return *this;
  }
  template <std::integral Number>
  TextLine& add(Number number) {
    const auto [end, error] = std::to_chars(text_.data() + used_, text_.data() + text_.size(), number);
    if (error == std::errc()) used_ = static_cast<std::size_t>(end - text_.data());
    return *this;
  }
  TextLine& addHex(std::uint64_t number) {
    const auto [end, error] = std::to_chars(text_.data() + used_, text_.data() + text_.size(), number, 16);
    if (error == std::errc()) used_ = static_cast<std::size_t>(end - text_.data());
    return *this;
  }
  // In seconds with one decimal.
  TextLine& addSeconds(std::uint64_t nanoseconds) {
    constexpr std::uint64_t kTenth = 100'000'000;
    return add(nanoseconds / kTenth / 10).add(".").add(nanoseconds / kTenth % 10).add(" s");
  }

  std::string_view text() const { return {text_.data(), used_}; }

 private:
  std::array<char, 512> text_{};
  std::size_t used_ = 0;
};

}  // namespace xylem::comm
