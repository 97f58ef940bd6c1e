#pragma once
// Whole logarithms, as the model counts levels of trees and sizes: log2Floor(9) = 3, log2Floor(0) = -1.

#include <bit>
#include <cstdint>

namespace xylem {

constexpr int log2Floor(std::uint64_t value) { return static_cast<int>(std::bit_width(value)) - 1; }

}  // namespace xylem
