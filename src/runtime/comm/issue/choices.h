#pragma once
// Chooses algorithm, protocol and number of channels for each collective, by the plan's tuning model. Choices
// are remembered, as programs repeat themselves. A tuner plugin, if there is one, has the last word.
//
//   Choices choices(plan.tuning[view], channelsToUse, tuner, collNetUse(plan, view, settings, reduced));
//   const ChosenAlgorithm& chosen = choices.of(operation);

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/settings.h"
#include "planner/plan/plan.h"
#include "planner/tuning/choice.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/join/peer_info.h"

namespace xylem::plugins {
class Tuner;
}
namespace xylem::comm {

// When CollNet runs a collective, and what does if it cannot although NCCL_ALGO allows nothing else.
struct CollNetUse {
  std::uint64_t reduced = 0;  // the reductions of all ranks' networks (peer_info.h); 0: no CollNet
  // Whether every rank is a head, and there are few enough hosts, for the stars of AllGather and ReduceScatter.
  bool gathersThroughDirect = false, gathersThroughNvls = false;
  bool chainOnly = false;  // on GPUs there are no stars
  // If NCCL_ALGO allows a collective nothing but CollNet: the model with rings added. Otherwise null.
  std::shared_ptr<const tuning::TuningModel> otherwise;
  std::shared_ptr<const Logger> log;  // null: log nothing
  // Why it is not used although some ranks have such a network; empty if it is, or no rank has one.
  std::string off;

  bool works(const CommOperation& operation) const;
  // Whether CollNet's direct pattern may run it.
  bool direct(const CommOperation& operation) const {
    return !chainOnly && (!gathersOrScatters(operation.function) || gathersThroughDirect);
  }
};

CollNetUse collNetUse(const plan::Plan& plan, int view, const Settings& settings, std::uint64_t reduced,
                      bool onGpus);

struct ChosenAlgorithm {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 1;
  std::int64_t chunkBytes = 0;  // if the operation has its channels to itself
  float time = 0;               // predicted, microseconds
};

class Choices {
 public:
  // `channels`: those that collectives use.
  Choices(const tuning::TuningModel& model, int channels,
          std::shared_ptr<const plugins::Tuner> tuner = nullptr, CollNetUse collnet = {});

  // Throws, with the reason, if nothing can run it, as with some values of NCCL_ALGO and NCCL_PROTO.
  const ChosenAlgorithm& of(const CommOperation& operation, int aggregated = 1);
  // Estimated time in microseconds.
  float predict(const CommOperation& operation) const;
  const tuning::TuningModel& model() const { return model_; }
  int channels() const { return channels_; }
  // Whether a tuner plugin decides.
  bool tuned() const { return tuner_ != nullptr; }

 private:
  struct Entry {
    std::uint64_t bytes = ~std::uint64_t{0};
    std::uint32_t kind = 0;  // function, type, reduction and number of aggregated operations
    ChosenAlgorithm chosen;
  };
  tuning::Operation describe(const CommOperation& operation, int aggregated) const;
  ChosenAlgorithm choose(const CommOperation& operation, int aggregated) const;
  [[noreturn]] void throwNoChoice(const tuning::Choice& choice) const;
  // Why an excluded candidate cannot run the operation.
  std::string whyNot(const tuning::Candidate& candidate, const tuning::Operation& operation) const;

  // Replaces a choice that has no candidate, as CollNet is all that NCCL_ALGO allows, by one with rings, if
  // that helps.
  void fallBack(tuning::Choice& choice) const;
  // Puts the candidate that the tuner prefers first. Returns the number of channels that it asks for, or 0.
  int retune(tuning::Choice& choice) const;

  const tuning::TuningModel& model_;
  int channels_;
  std::shared_ptr<const plugins::Tuner> tuner_;  // or null
  CollNetUse collnet_;
  std::vector<Entry> entries_;  // by hash; a newer entry replaces an older one
};

}  // namespace xylem::comm
