#include "runtime/comm/issue/collnet_use.h"

#include <algorithm>

#include "runtime/comm/issue/reducing.h"
#include "planner/plan/job_tuning.h"

namespace xylem {
namespace {

// Whether an algorithm is allowed, and none but CollNet's.
bool onlyCollnet(const ByAlgorithm<bool>& allowed) {
  bool any = false, others = false;
  for (const Algorithm algorithm : kAllAlgorithms) {
    any = any || allowed[algorithm];
    others = others || (allowed[algorithm] && !isCollnet(algorithm));
  }
  return any && !others;
}

}  // namespace

bool CollNetUse::works(const CommOperation& operation) const {
  return operation.function == Function::kAllReduce && !operation.reduction.scaled &&
         reduces(reduced, operation.type, operation.reduction.op);
}

std::string missingCollNet(std::span<const PeerInfo> peers) {
  const auto has = [](const PeerInfo& peer) { return peer.reduces != 0; };
  if (std::none_of(peers.begin(), peers.end(), has) || reducedByAll(peers) != 0) return {};
  const auto without = std::find_if_not(peers.begin(), peers.end(), has);
  if (without == peers.end()) return "there is nothing that the networks of all ranks reduce";
  return fmt::format("rank {} has no network that reduces (NCCL_COLLNET_ENABLE and the plugin there)",
                     without - peers.begin());
}

CollNetUse collNetUse(const Plan& plan, int view, const Settings& settings, std::uint64_t reduced) {
  CollNetUse use;
  use.reduced = reduced;
  TuningOptions options = TuningOptions::from(settings);
  bool any = false;
  for (const Collective collective : kAllCollectives) {
    if (!onlyCollnet(options.algorithms[collective])) continue;
    options.algorithms[collective][Algorithm::kRing] = any = true;
  }
  if (any)
    use.otherwise =
        std::make_shared<const TuningModel>(computeTuning(tuningInput(plan.connections, view), options));
  return use;
}

}  // namespace xylem
