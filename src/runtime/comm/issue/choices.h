#pragma once
// Which algorithm, protocol and channels each collective gets, from the plan's tuning model; remembered,
// since programs repeat themselves. A tuner plugin, if there is one, has the last word.
//
//   Choices choices(plan.tuning[view], channelsToUse, tuner);
//   const ChosenWay& way = choices.of(operation);

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/comm/issue/collnet_use.h"
#include "runtime/comm/issue/operation.h"
#include "planner/tuning/choice.h"

namespace xylem {

class Tuner;

struct ChosenWay {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 1;
  std::int64_t chunkBytes = 0;  // if it has all its channels to itself
};

class Choices {
 public:
  // `channels`: those that collectives use; `ranks`: of the communicator.
  Choices(const TuningModel& model, int channels, std::shared_ptr<const Tuner> tuner = nullptr,
          CollNetUse collnet = {});

  // Throws if nothing can run it, with the reason (NCCL_ALGO and NCCL_PROTO can do that).
  const ChosenWay& of(const CommOperation& operation, int aggregated = 1);
  // Microseconds.
  float predict(const CommOperation& operation) const;
  const TuningModel& model() const { return model_; }
  int channels() const { return channels_; }

 private:
  struct Entry {
    std::uint64_t bytes = ~std::uint64_t{0};
    std::uint32_t kind = 0;  // function, type, reduction and how many are aggregated
    ChosenWay way;
  };
  Operation describe(const CommOperation& operation, int aggregated) const;
  ChosenWay choose(const CommOperation& operation, int aggregated) const;

  // What runs instead of CollNet where NCCL_ALGO leaves nothing else; leaves the choice where it does.
  void fallBack(Choice& choice) const;
  // Puts the candidate that the tuner prefers first; the channels that it wants, or 0.
  int retune(Choice& choice) const;

  const TuningModel& model_;
  int channels_;
  std::shared_ptr<const Tuner> tuner_;  // null: none
  CollNetUse collnet_;
  std::vector<Entry> entries_;  // by hash; a newer one replaces an older
};

}  // namespace xylem
