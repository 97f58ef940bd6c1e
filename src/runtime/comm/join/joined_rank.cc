#include "runtime/comm/join/joined_rank.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/comm/communicator.h"
#include "runtime/comm/watch/flight_dump.h"

namespace xylem::comm {

JoinedRank::JoinedRank(std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                       std::unique_ptr<FlightRecorder> recorder, const JoinRequest& request, InitTimer& timer)
    : recorder_(std::move(recorder)),
      bootstrap_(std::move(bootstrap)),
      steps_(*bootstrap_, watch_, timer, *request.log),
      gpu_(steps_.run(InitPart::kAllGathers, "looking at the GPU",
                      [&]() -> std::unique_ptr<const gpu::GpuContext> {
                        const Membership& member = request.membership;
                        if (member.gpuDriver == nullptr) return nullptr;
                        return std::make_unique<gpu::GpuContext>(*member.gpuDriver, bootstrap_->rank(),
                                                                 member.device, request.settings);
                      })),
      roster_(steps_.run(InitPart::kAllGathers, "gathering the ranks' descriptions",
                         [&] {
                           dumpOnSignal(request.settings);
                           return gatherRoster(*bootstrap_, request, gpu_ ? &gpu_->facts() : nullptr);
                         })),
      stopped_(roster_.peers, roster_.rank,
               std::chrono::seconds(request.settings.integer(Setting::kStoppedTimeout))),
      plan_([&] {
        // From here on, whatever waits in the bootstrap also notices that a rank of this host is stopped.
        bootstrap_->alsoCheck([this](const char* what) { stopped_.check(StoppedPeers::kAll, what); });
        return planComm(steps_, *bootstrap_, roster_, request, gpu_ ? &gpu_->facts() : nullptr);
      }()),
      changes_(plan_.copies, *request.log, *recorder_),
      wiring_(steps_, *bootstrap_, roster_, plan_, request, watch_, changes_, gpu_.get()),
      issuer_([&] {
        SharedGpus gpus = steps_.run(InitPart::kConnections, "sharing the memory of GPUs", [&] {
          return shareGpus(*bootstrap_, roster_, plan_, wiring_, request, gpu_.get());
        });
        return steps_.run(InitPart::kConnections, "loading a tuner and a profiler", [&] {
          return Issuer(roster_, plan_, wiring_, request, {watch_, stopped_, *recorder_, changes_},
                        std::move(gpus));
        });
      }()) {
  steps_.run(InitPart::kConnections, "waiting for all ranks", [&] {
    bootstrap_->barrier("the last step of joining");
    bootstrap_->tellWaits({});
    if (roster_.hosts.ranks.size() > 1) changes_.showChoices();
    recorder_->joined();
    // Up to here all ranks learn of failures from the bootstrap; from now on the transports accept
    // connections that are made later, and tell those about failures, too.
    watch_.add(wiring_.transports().sessions());
  });
}

}  // namespace xylem::comm
