#pragma once
// The programs by name; programsOf (algorithm.h) finds them. Each lies in a file of its own.

#include "runtime/collectives/algorithm.h"

namespace xylem {

extern const Program kRingAllReduce;
extern const Program kRingAllGather;
extern const Program kRingReduceScatter;
extern const Program kRingBroadcast;
extern const Program kRingReduce;

// Both together are an AllReduce. At the root, the first one does all.
extern const Program kTreeReduceUp;
extern const Program kTreeBroadcastDown;

extern const Program kPatAllGather;
extern const Program kPatReduceScatter;
std::size_t patReduceScatterScratch(const Shape& shape);

}  // namespace xylem
