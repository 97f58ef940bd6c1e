#pragma once
// What ranks send in operations of `xylem perf` that only move data: bits that depend on the rank and the
// place, so that a piece from the wrong rank or place shows.
//
//   fillPattern(send, count, elementBytes, rank);
//   std::size_t wrong = countWrongPattern(receive, count, elementBytes, source, from);
//
// The bits repeat with a period that is prime, so that no usual offset is a multiple of it.

#include <cstddef>
#include <cstdint>

namespace xylem::cli {

constexpr std::size_t kPatternPeriod = 16381;

// Well mixed bits of a place in a rank's data.
std::uint64_t patternBits(std::size_t index, int rank);

void fillPattern(void* buffer, std::size_t count, std::size_t elementBytes, int rank);

// How many of `count` elements are not those of rank `source` from element `from` on.
std::size_t countWrongPattern(const void* buffer, std::size_t count, std::size_t elementBytes, int source,
                              std::size_t from);

// Repeats the first `period` elements up to `count`.
void repeat(void* buffer, std::size_t count, std::size_t elementBytes, std::size_t period);

}  // namespace xylem::cli
