#pragma once
// The bandwidths per channel that the search tries, in GB/s, fastest first. Origin: NCCL 2.25.1.

#include <span>

namespace xylem {

inline constexpr float kSpeedsIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
inline constexpr float kSpeedsIntraSm90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
inline constexpr float kSpeedsIntraSm100[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19};
inline constexpr float kSpeedsInter[] = {48, 30, 28, 24, 20, 18,   15,   12,    10,   9,
                                         7,  6,  5,  4,  3,  2.4f, 1.2f, 0.24f, 0.12f};
inline constexpr float kSpeedsInterSm90[] = {48, 45, 42, 40, 30,   24,   22,    20,   17.5f,
                                             15, 12, 6,  3,  2.4f, 1.2f, 0.24f, 0.12f};

constexpr std::span<const float> searchSpeeds(bool inter, int lowestSm) {
  if (inter)
    return lowestSm >= 90 ? std::span<const float>(kSpeedsInterSm90) : std::span<const float>(kSpeedsInter);
  if (lowestSm >= 100) return kSpeedsIntraSm100;
  return lowestSm >= 90 ? std::span<const float>(kSpeedsIntraSm90) : std::span<const float>(kSpeedsIntra);
}

}  // namespace xylem
