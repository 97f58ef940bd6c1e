#pragma once
// Numbers that every rank computes alike from the seed.
//
//   Random random(seed, phase, kOfPlan);
//   const std::size_t bytes = random.logUniform(1 << 20);

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace xylem::soak {

// A good mix of 64 bits (the finalizer of SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t first = 0, std::uint64_t second = 0)
      : state_(mixed(mixed(mixed(seed + kStep) + first * kStep) + second * kStep)) {}

  std::uint64_t next() { return mixed(state_ += kStep); }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool chance(int percent) { return below(100) < percent; }
  // Returns 0 to `most`; a result between 1 and 2 is as likely as one between 1000 and 2000.
  std::size_t logUniform(std::size_t most) {
    const double u = static_cast<double>(next() >> 11) * 0x1p-53;
    return static_cast<std::size_t>(std::exp(u * std::log(static_cast<double>(most) + 1.999))) - 1;
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int>(from.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[static_cast<std::size_t>(below(static_cast<int>(i)))]);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ull;
  std::uint64_t state_;
};

}  // namespace xylem::soak
