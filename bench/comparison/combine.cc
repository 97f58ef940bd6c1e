#include "comparison/combine.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace xylem::bench {
namespace {

void combinePlainly(std::span<const float* const> in, std::span<float* const> out, std::uint64_t begin,
                    std::uint64_t end) {
  for (std::uint64_t i = begin; i < end; ++i) {
    float sum = in[0][i];
    for (std::size_t s = 1; s < in.size(); ++s) sum += in[s][i];
    for (float* to : out) to[i] = sum;
  }
}

#if defined(__x86_64__)

constexpr std::uint64_t kVector = 8;  // floats
constexpr std::uintptr_t kAlignment = kVector * sizeof(float);

template <Stores kStores>
[[gnu::target("avx2"), gnu::always_inline]] inline void store(float* to, __m256 value) {
  if constexpr (kStores == Stores::kStreaming)
    _mm256_stream_ps(to, value);
  else
    _mm256_storeu_ps(to, value);
}

// Returns the number of elements done: all but the rest that does not fill two vectors, a cache line. Two
// ranks have one or two inputs and one or two outputs: with constants the compiler keeps everything in
// registers.
template <Stores kStores, std::size_t kIn, std::size_t kOut>
[[gnu::target("avx2")]] std::uint64_t combineLines(std::span<const float* const> in,
                                                   std::span<float* const> out, std::uint64_t count) {
  const std::size_t ins = kIn > 0 ? kIn : in.size();
  const std::size_t outs = kOut > 0 ? kOut : out.size();
  std::uint64_t i = 0;
  for (; i + 2 * kVector <= count; i += 2 * kVector) {
    __m256 low = _mm256_loadu_ps(in[0] + i), high = _mm256_loadu_ps(in[0] + i + kVector);
    for (std::size_t s = 1; s < ins; ++s) {
      low = _mm256_add_ps(low, _mm256_loadu_ps(in[s] + i));
      high = _mm256_add_ps(high, _mm256_loadu_ps(in[s] + i + kVector));
    }
    for (std::size_t d = 0; d < outs; ++d) {
      store<kStores>(out[d] + i, low);
      store<kStores>(out[d] + i + kVector, high);
    }
  }
  return i;
}

template <Stores kStores>
std::uint64_t combineVectors(std::span<const float* const> in, std::span<float* const> out,
                             std::uint64_t count) {
  if (in.size() == 2 && out.size() == 2) return combineLines<kStores, 2, 2>(in, out, count);
  if (in.size() == 2 && out.size() == 1) return combineLines<kStores, 2, 1>(in, out, count);
  if (in.size() == 1 && out.size() == 2) return combineLines<kStores, 1, 2>(in, out, count);
  if (in.size() == 1 && out.size() == 1) return combineLines<kStores, 1, 1>(in, out, count);
  return combineLines<kStores, 0, 0>(in, out, count);
}

std::uint64_t combineFast(std::span<const float* const> in, std::span<float* const> out, std::uint64_t count,
                          Stores stores) {
  if (!__builtin_cpu_supports("avx2")) return 0;
  const bool aligned = std::all_of(out.begin(), out.end(), [](const float* to) {
    return reinterpret_cast<std::uintptr_t>(to) % kAlignment == 0;
  });
  if (stores == Stores::kStreaming && aligned) return combineVectors<Stores::kStreaming>(in, out, count);
  return combineVectors<Stores::kPlain>(in, out, count);
}

#else

std::uint64_t combineFast(std::span<const float* const>, std::span<float* const>, std::uint64_t, Stores) {
  return 0;
}

#endif

}  // namespace

void combine(std::span<const float* const> in, std::span<float* const> out, std::uint64_t count,
             Stores stores) {
  combinePlainly(in, out, combineFast(in, out, count, stores), count);
}

void finishStreaming() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace xylem::bench
