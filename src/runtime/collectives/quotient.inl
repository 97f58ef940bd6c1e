// Division of many integers by one divisor, towards zero, by a multiplication: compilers vectorize that.
// Included inside an anonymous namespace by reduction_kernels.inl.
//
// Of n-bit unsigned u and d with k = floor(log2(d)), floor(u / d) is (u * m + c) >> (n + k) with m the next
// integer above 2^(n+k) / d and c = 0 if that is near enough, else the next below and c = m. (A. Robison,
// "N-bit unsigned division via n-bit multiply-add", ARITH 17, 2005.)

__extension__ using Uint128 = unsigned __int128;

template <int kBytes>
struct Twice;
template <>
struct Twice<1> {
  using Type = std::uint16_t;
};
template <>
struct Twice<4> {
  using Type = std::uint64_t;
};
template <>
struct Twice<8> {
  using Type = Uint128;
};

template <typename T>
struct Quotient {
  using U = typename UnsignedOf<T>::Type;
  using Wide = typename Twice<sizeof(T)>::Type;
  static constexpr int kBits = 8 * sizeof(T);

  U multiplier = 0;
  U addend = 0;
  int shift = 0;  // beyond kBits

  explicit Quotient(std::int64_t by) {
    const auto divisor = static_cast<std::uint64_t>(by);
    shift = 63 - __builtin_clzll(divisor);
    if (shift >= kBits) {  // more than any value: zero it is
      shift = 0;
      return;
    }
    const Uint128 power = Uint128{1} << (kBits + shift);
    const Uint128 below = power / divisor;
    const auto over = static_cast<std::uint64_t>(power % divisor);
    const bool isPower = over == 0;
    const bool isUp = !isPower && divisor - over <= std::uint64_t{1} << shift;
    multiplier = static_cast<U>(below + (isUp ? 1 : isPower ? -1 : 0));
    addend = isUp ? U{0} : multiplier;
  }

  U of(U value) const {
    const auto product = static_cast<Wide>(static_cast<Wide>(value) * multiplier + addend);
    return static_cast<U>(static_cast<U>(product >> kBits) >> shift);
  }
  T ofSigned(T value) const {
    if constexpr (T(-1) < T(0)) {
      const U size = of(static_cast<U>(value < 0 ? U{0} - static_cast<U>(value) : static_cast<U>(value)));
      return static_cast<T>(value < 0 ? U{0} - size : size);
    } else {
      return of(value);
    }
  }
};
