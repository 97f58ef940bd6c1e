#pragma once
// NCCL's tuning model of a job: latency and bandwidth of every collective, algorithm and protocol.
//
//   TuningModel model = computeTuning(input, TuningOptions::from(settings));
//   model.bandwidth[Collective::kAllReduce][Algorithm::kRing][Protocol::kSimple]   ->   6.667 GB/s
//
// An operation takes its latency plus its bytes divided by this bandwidth; planner/tuning/choice.h refines
// that and chooses.

#include <cstdint>

#include "core/kinds.h"
#include "planner/tuning/exclusion.h"
#include "planner/tuning/tuning_input.h"
#include "planner/tuning/tuning_options.h"

namespace xylem::tuning {

struct TuningModel {
  TuningInput input;
  TuningOptions options;
  ByCollective<ByAlgorithm<ByProtocol<float>>> latency{};    // microseconds
  ByCollective<ByAlgorithm<ByProtocol<float>>> bandwidth{};  // GB/s of the operation; 0 if excluded
  ByCollective<ByAlgorithm<ByProtocol<Exclusion>>> excluded{};
  ByAlgorithm<ByProtocol<int>> maxThreads{};
  ByAlgorithm<ByProtocol<std::int64_t>> threadThreshold{};  // bytes per thread

  // True if the job and the settings allow the combination.
  bool usable(Collective collective, Algorithm algorithm, Protocol protocol) const {
    return excluded[collective][algorithm][protocol] == Exclusion::kNone;
  }
};

TuningModel computeTuning(const TuningInput& input, const TuningOptions& options);

}  // namespace xylem::tuning
