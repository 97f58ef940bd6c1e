// The loop over elements that Vectors are there for. Included inside an anonymous namespace by
// reduction_kernels.inl.

// out = copy = incoming (op) own, of one block; `copy` where there is one; without `incoming`, own
// elements alone.
template <typename Element, ReduceOp kOp, bool kCombines>
[[gnu::always_inline]] inline void combineBlock(std::byte* out, std::byte* copy, const std::byte* incoming,
                                                const std::byte* own, float scale) {
  using V = Vectors<typename Element::Conversion>;
  auto result = V::load(own);
  if constexpr (kScales<Element, kOp>)
    for (auto& part : result.parts) part = part * scale;
  if constexpr (kCombines) {
    const auto other = V::load(incoming);
    for (int i = 0; i < V::kParts; ++i) {
      if constexpr (kOp == ReduceOp::kProd)
        result.parts[i] = other.parts[i] * (result.parts[i] * V::kProductScale);
      else
        result.parts[i] = other.parts[i] + result.parts[i];
    }
  }
  constexpr bool kFewBits = !kScales<Element, kOp>;
  V::template store<kFewBits>(out, result);
  if (copy != nullptr) V::template store<kFewBits>(copy, result);
}

template <typename Element, ReduceOp kOp, bool kCopies, bool kCombines>
void vectorLoop(void* outBytes, void* copyBytes, const void* incomingBytes, const void* ownBytes,
                std::size_t n, float scale) {
  constexpr std::size_t kBytes = sizeof(typename Element::Stored);
  constexpr std::size_t kBlock = Vectors<typename Element::Conversion>::kBytes;
  auto* out = static_cast<std::byte*>(outBytes);
  auto* copy = static_cast<std::byte*>(copyBytes);
  const auto* incoming = static_cast<const std::byte*>(incomingBytes);
  const auto* own = static_cast<const std::byte*>(ownBytes);
  const std::size_t bytes = n * kBytes;
  std::size_t at = 0;
  for (; at + kBlock <= bytes; at += kBlock)
    combineBlock<Element, kOp, kCombines>(out + at, kCopies ? copy + at : nullptr,
                                          kCombines ? incoming + at : nullptr, own + at, scale);
  if (const std::size_t rest = bytes - at; rest != 0) {
    alignas(64) std::byte lastOwn[kBlock] = {}, lastIncoming[kBlock] = {}, last[kBlock];
    __builtin_memcpy(lastOwn, own + at, rest);
    if (kCombines) __builtin_memcpy(lastIncoming, incoming + at, rest);
    combineBlock<Element, kOp, kCombines>(last, nullptr, lastIncoming, lastOwn, scale);
    __builtin_memcpy(out + at, last, rest);
    if (kCopies) __builtin_memcpy(copy + at, last, rest);
  }
}
