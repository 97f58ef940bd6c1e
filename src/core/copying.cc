#include "core/copying.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace xylem {
namespace {

// The C library copies this many bytes by vector instructions, more by string instructions.
constexpr std::size_t kByVectors = std::size_t{2} << 10;

#if defined(__SSE2__)
// Writes whole lines: the processor's write buffers gather each of them before it goes to memory.
void streamLines(std::byte* out, const std::byte* in, std::size_t lines) {
  for (; lines != 0; --lines, out += kCacheLine, in += kCacheLine) {
    const auto* from = reinterpret_cast<const __m128i*>(in);
    auto* to = reinterpret_cast<__m128i*>(out);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
}
#endif

}  // namespace

void copyBytes(std::byte* out, const std::byte* in, std::size_t bytes) {
  if (bytes != 0) std::memmove(out, in, bytes);
}

void copyToCore(std::byte* out, const std::byte* in, std::size_t bytes, bool isNear) {
  if (!isNear || !distanceMatters(bytes)) {
    std::memcpy(out, in, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
    __builtin_prefetch(in + at);
    prefetchToWrite(out + at);
  }
  for (std::size_t at = 0; at < bytes; at += kByVectors)
    std::memcpy(out + at, in + at, std::min(kByVectors, bytes - at));
}

// More lines can be on their way to the second cache at a time than to the first one, into which a plain copy fetches them.
void copyFromCore(std::byte* out, const std::byte* in, std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{1} << 10, kMost = std::size_t{8} << 10;
  constexpr int kToRead = 0, kIntoSecondCache = 2;
  if (bytes >= kLeast && bytes <= kMost)
    for (std::size_t at = 0; at < bytes; at += kCacheLine)
      __builtin_prefetch(in + at, kToRead, kIntoSecondCache);
  copyBytes(out, in, bytes);
}

void streamBytes(std::byte* out, const std::byte* in, std::size_t bytes) {
#if defined(__SSE2__)
  // The bytes before the first whole line and behind the last one are copied as usual.
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(out) % kCacheLine);
  copyBytes(out, in, before);
  const std::size_t lines = (bytes - before) / kCacheLine;
  streamLines(out + before, in + before, lines);
  const std::size_t done = before + lines * kCacheLine;
  copyBytes(out + done, in + done, bytes - done);
#else
  copyBytes(out, in, bytes);
#endif
}

void endStreaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void copyBytesStreaming(std::byte* out, const std::byte* in, std::size_t bytes) {
  streamBytes(out, in, bytes);
  endStreaming();
}

}  // namespace xylem
