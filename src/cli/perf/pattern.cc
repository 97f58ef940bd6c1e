#include "cli/perf/pattern.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace xylem::cli {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finalizer
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

void fillFrom(std::byte* out, std::size_t count, std::size_t elementBytes, int rank, std::size_t from) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = patternBits((from + i) % kPatternPeriod, rank);
    std::memcpy(out + i * elementBytes, &bits, elementBytes);  // little-endian, as every machine it runs on
  }
}

}  // namespace

std::uint64_t patternBits(std::size_t index, int rank) {
  return mix(index * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(rank) + 1);
}

void repeat(void* buffer, std::size_t count, std::size_t elementBytes, std::size_t period) {
  auto* out = static_cast<std::byte*>(buffer);
  for (std::size_t done = period; done < count; done += std::min(done, count - done))
    std::memcpy(out + done * elementBytes, out, std::min(done, count - done) * elementBytes);
}

void fillPattern(void* buffer, std::size_t count, std::size_t elementBytes, int rank) {
  fillFrom(static_cast<std::byte*>(buffer), std::min(count, kPatternPeriod), elementBytes, rank, 0);
  repeat(buffer, count, elementBytes, kPatternPeriod);
}

std::size_t countWrongPattern(const void* buffer, std::size_t count, std::size_t elementBytes, int source,
                              std::size_t from) {
  const auto* data = static_cast<const std::byte*>(buffer);
  std::vector<std::byte> expected(std::min(count, kPatternPeriod) * elementBytes);
  fillFrom(expected.data(), std::min(count, kPatternPeriod), elementBytes, source, from);
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < count; at += kPatternPeriod) {
    const std::size_t here = std::min(kPatternPeriod, count - at);
    const std::byte* found = data + at * elementBytes;
    if (std::memcmp(found, expected.data(), here * elementBytes) == 0) continue;
    for (std::size_t i = 0; i < here; ++i)
      wrong += std::memcmp(found + i * elementBytes, &expected[i * elementBytes], elementBytes) != 0;
  }
  return wrong;
}

}  // namespace xylem::cli
