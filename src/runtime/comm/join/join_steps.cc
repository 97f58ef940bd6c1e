#include "runtime/comm/join/join_steps.h"

#include "core/log.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/comm/watch/peer_watch.h"

namespace xylem::comm {
namespace {

constexpr std::array<const char*, kInitParts> kNames = {"kernels", "alloc",  "bootstrap",   "allgathers",
                                                        "topo",    "graphs", "connections", "copies"};
// Shown as 0.00.
constexpr double kNoTime = 0.005;

// A start that takes less needs no explanation.
constexpr double kLongStart = 1;

double secondsOf(InitTimer::Clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

double InitTimer::lap(InitPart part, const char* step) {
  const auto now = Clock::now();
  const double seconds = secondsOf(now - last_);
  parts_[static_cast<std::size_t>(part)] += seconds;
  last_ = now;
  if (seconds > longest_) {
    longest_ = seconds;
    longestName_ = step;
  }
  return seconds;
}

const char* InitTimer::name(InitPart part) { return kNames[static_cast<std::size_t>(part)]; }

double InitTimer::total() const { return secondsOf(Clock::now() - start_); }

std::string InitTimer::text() const {
  const double all = total();
  double rest = all;
  std::string text = fmt::format("total {:.2f} (", all);
  for (std::size_t i = 0; i < kInitParts; ++i) {
    rest -= parts_[i];
    if (static_cast<InitPart>(i) == InitPart::kCopies && parts_[i] < kNoTime) continue;
    text += fmt::format("{} {:.2f}, ", kNames[i], parts_[i]);
  }
  return text + fmt::format("rest {:.2f})", rest < 0 ? 0 : rest);
}

std::string InitTimer::longestStep() const {
  const double all = total();
  return all < kLongStart ? "" : fmt::format("{} took {:.2f} s of {:.2f} s", longestName_, longest_, all);
}

void JoinSteps::end(InitPart part, const char* what) noexcept {
  const double seconds = timer_.lap(part, what);
  log_.trace(Subsystem::kInit, "Joining: {} took {:.6f} s", what, seconds);
}

void JoinSteps::tellPeers(const Error& error) {
  if (told_) return;
  told_ = true;
  const bool misfit = error.code() == ResultCode::kInvalidUsage;
  const std::string reason = toldToPeers(bootstrap_.rank(), error);
  // Ranks that are through with joining no longer listen to the bootstrap: they hear it over their
  // connections.
  watch_.abort(bootstrap_.rank(), reason);
  bootstrap_.abort(reason, misfit ? ResultCode::kInvalidUsage : ResultCode::kRemoteError);
}

}  // namespace xylem::comm
