#include "core/copying.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define XYLEM_COPIES_BY_STRINGS 1  // sanitizers do not see what assembler code reads and writes
#include <cpuid.h>
#endif

namespace xylem {
namespace {

// The C library copies this many bytes by vector instructions, more by string instructions.
constexpr std::size_t kByVectors = std::size_t{2} << 10;

#if defined(__SSE2__)
const bool kHasAvx = __builtin_cpu_supports("avx") != 0;

// Writes whole lines: the processor's write buffers gather each of them before it goes to memory.
[[gnu::target("avx")]] void streamLines(std::byte* out, std::byte* copy, const std::byte* in,
                                        std::size_t bytes, const ReadNext& next) {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    if (at < next.bytes)
      for (const std::byte* const buffer : next.buffers) prefetchToRead(buffer + next.at + at);
    const auto* from = reinterpret_cast<const __m256i*>(in + at);
    const __m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
    auto* to = reinterpret_cast<__m256i*>(out + at);
    _mm256_stream_si256(to, a);
    _mm256_stream_si256(to + 1, b);
    if (copy == nullptr) continue;
    to = reinterpret_cast<__m256i*>(copy + at);
    _mm256_stream_si256(to, a);
    _mm256_stream_si256(to + 1, b);
  }
}
#endif

#if defined(XYLEM_COPIES_BY_STRINGS)
// Whether string instructions copy short data, too, as fast as vectors do ("fast short rep mov").
bool copiesByStrings() {
  constexpr unsigned kFeatures = 7, kFastShortRepMov = 1u << 4;
  static const bool fast = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) != 0 && (d & kFastShortRepMov) != 0;
  }();
  return fast;
}

void copyByString(std::byte* out, const std::byte* in, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
}
#endif

#if defined(__SSE2__)
constexpr std::size_t kVectorBlock = 2 * kCacheLine;

// Copies whole blocks of two lines, and returns their bytes. Each is loaded before it is stored, so that many lines are on their way at once.
[[gnu::target("avx")]] std::size_t copyBlocks(std::byte* out, const std::byte* in, std::size_t bytes) {
  std::size_t done = 0;
  for (; done + kVectorBlock <= bytes; done += kVectorBlock) {
    const auto* from = reinterpret_cast<const __m256i*>(in + done);
    auto* to = reinterpret_cast<__m256i*>(out + done);
    const __m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
    const __m256i c = _mm256_loadu_si256(from + 2), d = _mm256_loadu_si256(from + 3);
    _mm256_storeu_si256(to, a);
    _mm256_storeu_si256(to + 1, b);
    _mm256_storeu_si256(to + 2, c);
    _mm256_storeu_si256(to + 3, d);
  }
  return done;
}
#endif

void copyByVectors(std::byte* out, const std::byte* in, std::size_t bytes) {
  std::size_t done = 0;
#if defined(__SSE2__)
  if (kHasAvx) done = copyBlocks(out, in, bytes);
#endif
  copyBytes(out + done, in + done, bytes - done);
}

}  // namespace

void copyBytes(std::byte* out, const std::byte* in, std::size_t bytes) {
  if (bytes != 0) std::memmove(out, in, bytes);
}

// The C library's copy has vectors write the first and the last bytes, and all of less than 2 KiB: these stores wait for their lines. String
// instructions write whole lines without fetching them first.
void copyMuchToCore(std::byte* out, const std::byte* in, std::size_t bytes, Handover handover) {
  if (handover == Handover::kMemory && bytes >= kLeastHandedOver) return copyBytesStreaming(out, in, bytes);
#if defined(XYLEM_COPIES_BY_STRINGS)
  constexpr std::size_t kLeast = std::size_t{1} << 10;
  if (bytes >= kLeast && copiesByStrings()) return copyByString(out, in, bytes);
#endif
  copyBytes(out, in, bytes);
}

// String instructions fetch lines out of another core's cache faster than vectors do, but leave them where that core waits for them when it
// writes them again. A core that reads by vectors has all lines of a few KiB on their way at once.
void copyMuchFromCore(std::byte* out, const std::byte* in, std::size_t bytes, Handover handover) {
  constexpr std::size_t kMost = std::size_t{8} << 10;
  if (handover == Handover::kMemory && bytes >= kLeastHandedOver) return copyByVectors(out, in, bytes);
  if (bytes > kMost)
    return handover == Handover::kNearCache ? copyByVectors(out, in, bytes) : copyBytes(out, in, bytes);
  for (std::size_t at = 0; at < bytes; at += kByVectors)
    copyBytes(out + at, in + at, std::min(kByVectors, bytes - at));
}

void streamBytes(std::byte* out, std::byte* copy, const std::byte* in, std::size_t bytes,
                 [[maybe_unused]] const ReadNext& next) {
#if defined(__SSE2__)
  const auto offset = [](const std::byte* place) {
    return reinterpret_cast<std::uintptr_t>(place) % kCacheLine;
  };
  const bool alike = copy == nullptr || offset(copy) == offset(out);
  if (kHasAvx && alike) {
    // The bytes before the first whole line and behind the last one are copied as usual.
    const std::size_t before = std::min(bytes, -offset(out) % kCacheLine);
    const std::size_t lines = (bytes - before) / kCacheLine * kCacheLine, done = before + lines;
    for (std::byte* const place : {out, copy}) {
      if (place == nullptr) continue;
      copyBytes(place, in, before);
      copyBytes(place + done, in + done, bytes - done);
    }
    return streamLines(out + before, copy == nullptr ? nullptr : copy + before, in + before, lines, next);
  }
  if (kHasAvx) {
    // In blocks that stay in the cache from one output to the other.
    constexpr std::size_t kBlock = std::size_t{16} << 10;
    for (std::size_t at = 0; at < bytes; at += kBlock) {
      const std::size_t n = std::min(kBlock, bytes - at);
      streamBytes(out + at, nullptr, in + at, n, at == 0 ? next : ReadNext{});
      streamBytes(copy + at, nullptr, in + at, n);
    }
    return;
  }
#endif
  copyBytes(out, in, bytes);
  if (copy != nullptr) copyBytes(copy, in, bytes);
}

void endStreaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void copyBytesStreaming(std::byte* out, const std::byte* in, std::size_t bytes) {
  streamBytes(out, nullptr, in, bytes);
  endStreaming();
}

}  // namespace xylem
