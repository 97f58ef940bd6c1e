#pragma once
// What a communicator's network that reduces is good for, and what to do where NCCL_ALGO wants it and it is
// not.
//
//   CollNetUse use = collNetUse(plan, view, settings, reduced);
//   if (use.works(operation)) ...
//   if (use.otherwise && nothing can run it) choose(*use.otherwise, operation);

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/comm/issue/operation.h"
#include "runtime/comm/join/peer_info.h"
#include "core/log.h"
#include "core/settings.h"
#include "planner/plan/plan.h"

namespace xylem {

struct CollNetUse {
  std::uint64_t reduced = 0;  // runtime/comm/issue/reducing.h: by the networks of all hosts; 0: there is no CollNet
  // Where NCCL_ALGO leaves a collective nothing but CollNet: the model with rings beside it. Null: nowhere.
  std::shared_ptr<const TuningModel> otherwise;
  std::shared_ptr<const Logger> log;  // null: says nothing

  bool works(const CommOperation& operation) const;
};

// Why there is no CollNet although some ranks have a network that reduces; empty if none has, or all do.
std::string missingCollNet(std::span<const PeerInfo> peers);

CollNetUse collNetUse(const Plan& plan, int view, const Settings& settings, std::uint64_t reduced);

}  // namespace xylem
