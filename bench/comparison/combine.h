#pragma once
// The inner loop of the limits: writes the sum of some inputs, or a copy of one, into some outputs.
//
//   combine({in0, in1}, {out0, out1}, count, Stores::kStreaming);

#include <cstdint>
#include <span>

namespace xylem::bench {

enum class Stores { kPlain, kStreaming };  // kStreaming: past the caches, where the processor can

// Uses plain stores if outputs are not aligned to 32 bytes.
void combine(std::span<const float* const> in, std::span<float* const> out, std::uint64_t count,
             Stores stores);

// Makes streamed data visible to other cores.
void finishStreaming();

}  // namespace xylem::bench
