// Results that go to two places. Compiled for one kind of processor by each file that includes it, like reduction_kernels.inl.

namespace xylem::collectives {
namespace {

// Calls `into(begin, end)` for all n bytes. Where there is a `copy`, block by block, and copies each from `out`, which is in the first-level
// cache then. Loops that stored to both took twice as long on a Xeon: it joins stores to one line, but not if one to another line is between them.
template <typename Into>
[[gnu::always_inline]] inline void intoBoth(std::byte* out, std::byte* copy, std::size_t n, Into&& into) {
  constexpr std::size_t kBlock = 4096;
  if (copy == nullptr) return into(std::size_t{0}, n);
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = n - begin < kBlock ? n : begin + kBlock;
    into(begin, end);
    __builtin_memcpy(copy + begin, out + begin, end - begin);
  }
}

}  // namespace
}  // namespace xylem::collectives
