#pragma once
// A host as its ranks would describe it together: every rank detects its own GPU and all network devices, and
// what they found is fused in the order of local ranks. Elements of a host that no rank uses disappear, and
// GPUs of later ranks stand after those of earlier ones below the same parent; order decides ties in a plan.
//
//   Document whole = readTopology("dgxh100.xml");
//   Document used = describeAsRanksWould(whole, std::vector{7, 5, 3, 1});   // rank 0 uses the gpu with dev 7
//   Document fused = describeAsRanksWould(whole);                           // all of them, in rank order

#include <span>

#include "planner/topology/document.h"

namespace xylem {

// `gpus[r]` is the `dev` of the GPU that rank r of the host uses; the result's `rank` attributes count 0, 1,
// … What the host's file leaves out of its elements is completed first. Throws InputError for a number that
// no gpu has or that stands twice in the list, and for an empty list.
Document describeAsRanksWould(const Document& host, std::span<const int> gpus);

// With every GPU that has a rank, in rank order; if none has one, every GPU in document order.
Document describeAsRanksWould(const Document& host);

}  // namespace xylem
