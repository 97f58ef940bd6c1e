#pragma once
// The constants in which NCCL's versions differ and that are lists: the bandwidths that searches try, and the limits and
// latencies of the tuning model. Rule sets hold them (rule_set.h). Bandwidths are in GB/s (1e9 bytes per second),
// latencies in microseconds. Origin: NCCL's versions; all are fitted or measured values, which follow from no formula.
//
//   rules.searchSpeeds.interSm100.front()   ->   the highest bandwidth per channel that is tried with NICs: 48 or 96

#include <array>
#include <span>

namespace xylem::rules {

// The bandwidths per channel that searches try, highest first; below compute capability 90, from 90 and from 100 on.
struct SearchSpeeds {
  std::span<const float> intra, intraSm90, intraSm100;  // without NICs
  std::span<const float> inter, interSm90, interSm100;  // with NICs
};

namespace speeds {
inline constexpr float kIntra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
inline constexpr float kIntraSm90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
inline constexpr float kInter[] = {48, 30, 28, 24, 20, 18,   15,   12,    10,   9,
                                   7,  6,  5,  4,  3,  2.4f, 1.2f, 0.24f, 0.12f};
inline constexpr float kInterSm90[] = {48, 45, 42, 40, 30,   24,   22,    20,   17.5f,
                                       15, 12, 6,  3,  2.4f, 1.2f, 0.24f, 0.12f};
inline constexpr float kIntraSm100Of225[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19};
inline constexpr float kIntraSm100Of227[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
inline constexpr float kInterSm100Of227[] = {96,    48, 45.1f, 42, 40, 30,   24,   22,    20,
                                             17.5f, 15, 12,    6,  3,  2.4f, 1.2f, 0.24f, 0.12f};
inline constexpr float kIntraSm100Of229[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
inline constexpr float kInterSm100Of229[] = {96,    80, 48, 45.1f, 42, 40,   30,   24,    22,   20,
                                             17.5f, 15, 12, 6,     3,  2.4f, 1.2f, 0.24f, 0.12f};
inline constexpr float kInterSm100Of230[] = {96, 86,    80, 48, 45.1f, 42, 40,   30,   24,    22,
                                             20, 17.5f, 15, 12, 6,     3,  2.4f, 1.2f, 0.24f, 0.12f};
}  // namespace speeds

// Limits of bandwidth by architecture (Volta, Ampere, Hopper, Blackwell); the columns are for one node, two nodes and
// more.
using LimitRow = std::array<double, 3>;
using LimitRows = std::array<LimitRow, 4>;
inline constexpr std::size_t kBlackwellRow = 3;

// The numbers of the tuning model that have changed since 2.25.1. planner/tuning/measured.h has the others.
struct TuningTables {
  // Per channel.
  LimitRows maxRingLl128 = {{{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {73.4, 73.4, 73.4}}};
  LimitRows maxTreeLl128 = {{{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {73.4, 73.4, 58.0}}};
  LimitRows maxTree = {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {77.4, 82.8, 72.0}}};
  LimitRows maxNvlsTree = {{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 43.8}}};
  // The part of NVLink's bandwidth that NVLS reaches, by architecture.
  std::array<float, 4> nvlsEfficiency = {0.0f, 0.0f, 0.85f, 0.74f};
  float nvlsTreeNet = 14;  // latency of a step over the network with NVLSTree
  // PAT's latencies: its start, a step inside a node, a step over the network with several ranks per node.
  float patBase = 8;
  float patIntra = 0;
  float patNet = 0;
};

}  // namespace xylem::rules
