#pragma once
// The measured numbers of the tuning model, all from NCCL 2.25: latencies in microseconds, bandwidths in GB/s
// (1e9 bytes per second). The types matter: what NCCL keeps as float or double is so here, so that sums round
// alike.

#include <array>
#include <cstddef>
#include <cstdint>

#include "tuning/kinds.h"

namespace xylem::measured {

// What data moves over.
enum class Hardware : std::uint8_t { kNvlink, kPci, kNet };
template <typename T>
using ByHardware = KeyedArray<Hardware, T, 3>;

using Latencies = ByAlgorithm<ByProtocol<float>>;

// To start an operation; columns LL, LL128, Simple.
constexpr Latencies kBaseLatency = {{{
    {{{6.8f, 14.0f, 8.4f}}},  // Tree
    {{{6.6f, 14.0f, 8.4f}}},  // Ring
}}};

// Of one step; rows Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT.
constexpr ByHardware<Latencies> kStepLatency = {{{
    {{{{{{0.6f, 1.25f, 4.0f}}},
       {{{0.6f, 1.9f, 3.4f}}},
       {{{0, 0, 3.7f}}},
       {{{0, 0, 2.8f}}},
       {{{0, 0, 25}}},
       {{{0, 0, 25}}},
       {{{0, 0, 0}}}}}},
    {{{{{{1.0f, 1.9f, 4.0f}}},
       {{{1.0f, 2.5f, 5.7f}}},
       {{{0, 0, 3.7f}}},
       {{{0, 0, 2.8f}}},
       {{{0, 0, 0}}},
       {{{0, 0, 0}}},
       {{{0, 0, 0}}}}}},
    {{{{{{5.0f, 8.5f, 14}}},
       {{{2.7f, 4.0f, 14.0f}}},
       {{{0, 0, 31}}},
       {{{0, 0, 30}}},
       {{{0, 0, 18}}},
       {{{0, 0, 14}}},
       {{{0, 0, 0}}}}}},
}}};

// What a CPU adds to each network step of a ring.
constexpr float kNetOverheadIntel = 1.0f;
constexpr float kNetOverheadAmd = 2.0f;
constexpr float kNetOverheadOther = 1.0f;
constexpr float kNetOverheadSimpleFactor = 3;

// Limits by architecture; columns one node, two nodes, more.
enum class Architecture : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
using Limits = KeyedArray<Architecture, std::array<double, 3>, 4>;
constexpr Limits kMostLl = {
    {{{{39.0, 39.0, 20.4}}, {{87.7, 22.5, 19.0}}, {{141.0, 45.0, 35.0}}, {{282, 90, 70}}}}};
// Per channel.
constexpr Limits kMostRingLl128 = {
    {{{{20.0, 20.0, 20.0}}, {{20.0, 20.0, 20.0}}, {{36.7, 36.7, 36.7}}, {{73.4, 73.4, 73.4}}}}};
constexpr Limits kMostTreeLl128 = {
    {{{{20.0, 20.0, 20.0}}, {{20.0, 20.0, 20.0}}, {{36.7, 36.7, 29.0}}, {{73.4, 73.4, 58}}}}};
constexpr Limits kMostTree = {
    {{{{26.5, 18.5, 10.0}}, {{24.0, 23.6, 17.8}}, {{38.7, 41.4, 36.0}}, {{77.4, 82.8, 72}}}}};

constexpr Architecture architectureOf(int sm) {
  if (sm >= 100) return Architecture::kBlackwell;
  if (sm >= 90) return Architecture::kHopper;
  return sm >= 80 ? Architecture::kAmpere : Architecture::kVolta;
}

// How much of the model's bandwidth AllReduce with Tree reaches, by size: from 64 B, doubling.
constexpr std::size_t kCorrectedSizes = 23;
constexpr int kFirstCorrectedSizeLog2 = 6;
constexpr ByProtocol<std::array<float, kCorrectedSizes>> kTreeCorrection = {{{
    {1.0f, 1.0f, 1.0f, 1.0f, .9f, .8f, .7f, .7f,  .7f,  .7f,  .6f, .5f,
     .4f,  .4f,  .5f,  .6f,  .7f, .8f, .9f, 1.0f, 1.0f, 1.0f, 1.0f},
    {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, .9f, .8f, .8f, .8f, .7f,  .6f, .6f,
     .6f,  .6f,  .6f,  .6f,  .8f,  .9f, .9f, .9f, .9f, 1.0f, 1.0f},
    {.9f, .9f, .9f, .9f, .9f, .9f, .9f, .8f, .7f, .6f, .6f, .5f,
     .5f, .5f, .5f, .6f, .7f, .8f, .7f, .7f, .8f, .9f, .9f},
}}};
// AllReduce with Ring and Simple across nodes reaches its plateau late: its latency counts more, as soon as
// every rank has this many bytes per channel.
constexpr std::uint64_t kPlateauBytes = 64;
constexpr double kPlateauBeforeAmpere = 1.9;
constexpr double kPlateauFromAmpere = 1.4;

}  // namespace xylem::measured
