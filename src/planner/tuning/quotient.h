#pragma once
// Division of whole numbers that rounds up.

namespace xylem {

template <typename Number>
constexpr Number roundedUp(Number value, Number divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace xylem
