#include "planner/tuning/model.h"

#include "planner/tuning/block_size.h"
#include "planner/tuning/gpu_model.h"

namespace xylem::tuning {
namespace {

void addEntry(TuningModel& model, Collective collective, Algorithm algorithm, Protocol protocol) {
  const TuningInput& input = model.input;
  const TuningOptions& options = model.options;
  if (hasModel(input, options, collective, algorithm, protocol))
    model.latency[collective][algorithm][protocol] =
        input.hostDevices ? hostLatency(input, options.host, collective, algorithm, protocol)
                          : gpuLatency(input, options, collective, algorithm, protocol);
  Exclusion& excluded = model.excluded[collective][algorithm][protocol];
  excluded = excludedByJob(input, options, collective, algorithm, protocol);
  if (excluded != Exclusion::kNone) return;
  const float bandwidth = input.hostDevices
                              ? hostBandwidth(input, options.host, collective, algorithm, protocol)
                              : gpuBandwidth(input, collective, algorithm, protocol);
  if (bandwidth > 0)
    model.bandwidth[collective][algorithm][protocol] = bandwidth;
  else
    excluded = Exclusion::kNoChannels;
}

}  // namespace

TuningModel computeTuning(const TuningInput& input, const TuningOptions& options) {
  TuningModel model{.input = input, .options = options};
  for (const Algorithm a : kAllAlgorithms)
    for (const Protocol p : kAllProtocols) {
      model.maxThreads[a][p] = maxThreads(input, options, a, p);
      model.threadThreshold[a][p] = threadThreshold(input, options, a, p);
      for (const Collective c : kAllCollectives) addEntry(model, c, a, p);
    }
  return model;
}

}  // namespace xylem::tuning
