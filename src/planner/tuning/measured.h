#pragma once
// The measured numbers of the tuning model that are alike in all versions of NCCL (planner/rules/tables.h has the others): latencies in microseconds, bandwidths in
// GB/s (1e9 bytes per second). Each number has the type that NCCL gives it, float or double, so that sums
// round alike.
//
//   measured::kStepLatency[Hardware::kPci][Algorithm::kRing][Protocol::kLl]   ->   1.0f

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/kinds.h"

namespace xylem::tuning::measured {

// The hardware of a step.
enum class Hardware : std::uint8_t { kNvlink, kPci, kNet };
template <typename T>
using ByHardware = KeyedArray<Hardware, T, 3>;

using Latencies = ByAlgorithm<ByProtocol<float>>;
constexpr ByProtocol<float> latencies(float ll, float ll128, float simple) { return {ll, ll128, simple}; }

// The start of an operation.
constexpr Latencies kBaseLatency = {
    latencies(6.8f, 14.0f, 8.4f),  // Tree
    latencies(6.6f, 14.0f, 8.4f),  // Ring
};

// One step.
constexpr Latencies kNvlinkLatency = {
    latencies(0.6f, 1.25f, 4.0f),  // Tree
    latencies(0.6f, 1.9f, 3.4f),   // Ring
    latencies(0, 0, 3.7f),         // CollNetDirect
    latencies(0, 0, 2.8f),         // CollNetChain
    latencies(0, 0, 25),           // NVLS
    latencies(0, 0, 25),           // NVLSTree
};
constexpr Latencies kPciLatency = {
    latencies(1.0f, 1.9f, 4.0f),  // Tree
    latencies(1.0f, 2.5f, 5.7f),  // Ring
    latencies(0, 0, 3.7f),        // CollNetDirect
    latencies(0, 0, 2.8f),        // CollNetChain
};
constexpr Latencies kNetLatency = {
    latencies(5.0f, 8.5f, 14),     // Tree
    latencies(2.7f, 4.0f, 14.0f),  // Ring
    latencies(0, 0, 31),           // CollNetDirect
    latencies(0, 0, 30),           // CollNetChain
    latencies(0, 0, 18),           // NVLS
};
constexpr ByHardware<Latencies> kStepLatency = {kNvlinkLatency, kPciLatency, kNetLatency};

// The CPU's overhead for each network step of a ring.
constexpr float kNetOverheadIntel = 1.0f;
constexpr float kNetOverheadAmd = 2.0f;
constexpr float kNetOverheadOther = 1.0f;
constexpr float kNetOverheadSimpleFactor = 3;

// The first compute capability (major*10+minor) of an architecture.
constexpr int kAmpereSm = 80;
constexpr int kHopperSm = 90;
constexpr int kBlackwellSm = 100;

// Limits of bandwidth by architecture; the columns are for one node, two nodes and more.
enum class Architecture : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
using Limits = KeyedArray<Architecture, std::array<double, 3>, 4>;
constexpr std::array<double, 3> limits(double one, double two, double more) { return {one, two, more}; }
constexpr Limits kMaxLl = {limits(39.0, 39.0, 20.4), limits(87.7, 22.5, 19.0), limits(141.0, 45.0, 35.0),
                           limits(282.0, 90.0, 70.0)};

constexpr Architecture architectureOf(int sm) {
  if (sm >= kBlackwellSm) return Architecture::kBlackwell;
  if (sm >= kHopperSm) return Architecture::kHopper;
  return sm >= kAmpereSm ? Architecture::kAmpere : Architecture::kVolta;
}

// How much of the model's bandwidth AllReduce with Tree reaches, by size: from 64 B, doubling.
constexpr std::size_t kCorrectedSizes = 23;
constexpr int kFirstCorrectedSizeLog2 = 6;
using Correction = std::array<float, kCorrectedSizes>;
constexpr ByProtocol<Correction> kTreeCorrection = {
    // LL
    Correction{1.0f, 1.0f, 1.0f, 1.0f, 0.9f, 0.8f, 0.7f, 0.7f, 0.7f, 0.7f, 0.6f, 0.5f,
               0.4f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f, 1.0f, 1.0f, 1.0f},
    // LL128
    Correction{1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.9f, 0.8f, 0.8f, 0.8f, 0.7f, 0.6f, 0.6f,
               0.6f, 0.6f, 0.6f, 0.6f, 0.8f, 0.9f, 0.9f, 0.9f, 0.9f, 1.0f, 1.0f},
    // Simple
    Correction{0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.8f, 0.7f, 0.6f, 0.6f, 0.5f,
               0.5f, 0.5f, 0.5f, 0.6f, 0.7f, 0.8f, 0.7f, 0.7f, 0.8f, 0.9f, 0.9f},
};
// AllReduce with Ring and Simple across nodes reaches its plateau late: its latency counts more, as soon as
// every rank has this many bytes per channel.
constexpr std::uint64_t kPlateauBytes = 64;
constexpr double kPlateauBeforeAmpere = 1.9;
constexpr double kPlateauFromAmpere = 1.4;

}  // namespace xylem::tuning::measured
