#pragma once
// Why an algorithm with a protocol does not run an operation. The model finds those that hold for every size
// and type, the choice those that depend on the operation.
//
//   Exclusion why = excludedByJob(input, options, Collective::kAllReduce, Algorithm::kNvlsTree,
//   Protocol::kSimple); why == Exclusion::kOneNode   ->   "NVLSTree needs more than one node"

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"
#include "planner/tuning/tuning_options.h"

namespace xylem {

enum class Exclusion : std::uint8_t {
  kNone,  // it may run
  // By what there is.
  kOneRank,      // a rank alone copies
  kNotOffered,   // the algorithm does not do this collective
  kSimpleOnly,   // the algorithm knows no protocol but Simple
  kPatUnfit,     // PAT wants one rank per node
  kPatDisabled,  // NCCL_PAT_ENABLE
  kOneNode,      // NVLSTree wants several nodes
  kNoCollnet,    // no network that reduces by itself
  kNoNvSwitch,   // CollNetDirect wants an NVSwitch
  kFewHeads,     // CollNetDirect wants a NIC per GPU for this collective
  kNoMulticast,  // no NVLink multicast
  kNoChannels,   // the search found no channels for it
  // By the settings.
  kAlgorithmList,  // NCCL_ALGO
  kProtocolList,   // NCCL_PROTO
  // LL128 needs 128-byte stores that stay whole.
  kLl128Distance,      // inside the node too far
  kLl128NetDistance,   // to the NICs too far
  kLl128MixedGpus,     // GPUs differ
  kLl128Architecture,  // not on these GPUs
  // By the operation; from here on the order says so.
  kManyLocalRanks,   // CollNetDirect serves up to eight ranks per node
  kNoProgram,        // whoever executes it does not have the algorithm
  kCollnetOperands,  // the network does not do this type and reduction
  kNvlsOperands,     // multicast does not do this type and reduction
  kNvlsSpread,       // NVLS gathers and scatters on one node of up to 32 ranks
  kPatScaling,       // PAT cannot scale while it scatters
  kTooSlow,          // the predicted time is beyond what NCCL considers
};

// CollNetDirect serves so many ranks per node, NVLS gathers and scatters among so many.
constexpr int kMostCollnetDirectRanks = 8;
constexpr int kMostNvlsGatherRanks = 32;
// The farthest NIC with which LL128 works.
PathType farthestLl128Net(const TuningInput& input);

// NCCL's tuning model: bandwidth 0 for anything but kNone. Asks for no graph's bandwidth.
Exclusion excludedByJob(const TuningInput& input, const TuningOptions& options, Collective collective,
                        Algorithm algorithm, Protocol protocol);

// Does the model know a latency? Excluded combinations have one if only the job or the settings exclude them.
bool hasModel(const TuningInput& input, const TuningOptions& options, Collective collective,
              Algorithm algorithm, Protocol protocol);

}  // namespace xylem
