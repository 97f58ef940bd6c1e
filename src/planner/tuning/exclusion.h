#pragma once
// The reasons for which an algorithm with a protocol does not run an operation. The model finds the reasons
// that hold for every size and type, the choice those that depend on the operation; explain() of
// planner/tuning/choice.h has a sentence for each.
//
//   excludedByJob(input, options, Collective::kAllReduce, Algorithm::kNvlsTree, Protocol::kSimple)
//       ->   Exclusion::kOneNode

#include "core/kinds.h"
#include "planner/tuning/tuning_input.h"
#include "planner/tuning/tuning_options.h"

namespace xylem::tuning {

enum class Exclusion : std::uint8_t {
  kNone,  // it may run
  // By the machine and the job.
  kOneRank,      // a rank alone only copies
  kNotOffered,   // the algorithm does not do this collective
  kSimpleOnly,   // the algorithm has no protocol but Simple
  kPatUnfit,     // PAT needs one rank per node
  kPatDisabled,  // NCCL_PAT_ENABLE
  kPatOldGpus,   // PAT needs newer GPUs
  kOneNode,      // NVLSTree needs several nodes
  kNoCollnet,    // no network that reduces
  kNoNvSwitch,   // CollNetDirect needs an NVSwitch
  kFewHeads,     // CollNetDirect and NVLS need a NIC per GPU for this collective
  kChainsApart,  // CollNetChain needs chains that start at GPUs with a connection to the network
  kNoMulticast,  // no NVLink multicast
  kNoChannels,   // the search found no channels for it
  // By the settings.
  kAlgorithmList,  // NCCL_ALGO
  kProtocolList,   // NCCL_PROTO
  // LL128 needs 128-byte stores that stay whole.
  kLl128Distance,      // the GPUs of a node are too far from each other
  kLl128NetDistance,   // the NICs are too far from the GPUs
  kLl128MixedGpus,     // GPUs differ
  kLl128Architecture,  // not on these GPUs
  // By the operation. The runtime compares with the first of these: add no other reason behind it.
  kManyLocalRanks,   // CollNetDirect serves up to eight ranks per node
  kNoProgram,        // the runtime does not have the algorithm
  kCollnetOperands,  // the network does not do this type and reduction
  kNvlsOperands,     // multicast does not do this type and reduction
  kNvlsSpread,       // NVLS gathers and scatters on one node of up to 32 ranks
  kPatScaling,       // PAT cannot scale while it scatters
  kTooSlow,          // the predicted time is beyond what NCCL considers
};

constexpr int kMaxCollnetDirectRanks = 8;  // per node
constexpr int kMaxNvlsGatherRanks = 32;    // AllGather and ReduceScatter with NVLS
// Returns the type of the longest path to a NIC over which LL128 works.
paths::PathType farthestLl128Net(const TuningInput& input);

// Returns the reason that the job or the settings give, kNone if there is none. Does not check that the graph
// has channels: kNoChannels comes from the model, which knows the bandwidth.
Exclusion excludedByJob(const TuningInput& input, const TuningOptions& options, Collective collective,
                        Algorithm algorithm, Protocol protocol);

// Returns whether the model has a latency. A combination has one even if the job or the settings exclude it.
bool hasModel(const TuningInput& input, const TuningOptions& options, Collective collective,
              Algorithm algorithm, Protocol protocol);

}  // namespace xylem::tuning
