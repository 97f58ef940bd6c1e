#pragma once
// Bandwidth as nccl-tests reports it: what each rank's link carries, whatever the collective.
//
//   busBandwidth(Collective::kAllReduce, 4, 2 << 20, 427.05f)   ->   7.37 GB/s

#include <cstdint>

#include "core/kinds.h"

namespace xylem {

// Of an operation of `bytes` (all ranks' together for AllGather and ReduceScatter) in `time` microseconds; in
// GB/s. 0 where nothing takes time.
constexpr double busBandwidth(Collective collective, int ranks, std::uint64_t bytes, double time) {
  constexpr double kBytesPerMicrosecond = 1000;  // of one GB/s
  if (time <= 0) return 0;
  double factor = 1;
  if (collective == Collective::kAllReduce) factor = 2.0 * (ranks - 1) / ranks;
  if (gathersOrScatters(collective)) factor = 1.0 * (ranks - 1) / ranks;
  return static_cast<double>(bytes) / time / kBytesPerMicrosecond * factor;
}

}  // namespace xylem
