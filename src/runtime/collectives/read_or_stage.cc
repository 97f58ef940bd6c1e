#include "runtime/collectives/read_or_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace xylem::collectives {
namespace {

// Where not all ranks see all descriptors, one operation of this many begins with a meeting of all, which costs long operations little.
constexpr std::uint32_t meetingInterval(std::size_t bytes) {
  if (bytes < std::size_t{32} << 10) return 64;
  return bytes < std::size_t{128} << 10 ? 16 : bytes < std::size_t{1} << 20 ? 8 : 4;
}
// After the way has changed from reading to staging it is at most every fifth, this many times: that may be a trial, which has four
// operations, or up to twenty (TwoWays).
constexpr std::uint32_t kSoon = 5;
constexpr std::uint32_t kTimesSoon = 5;

}  // namespace

ReadOrStage::ReadOrStage(const Meeting& meeting, const PeerDistances& distances,
                         const transport::CopyChoices& choices, transport::TellChange tell,
                         PeerDistances::Now now)
    : meeting_(meeting),
      distances_(distances),
      choices_(choices),
      tell_(std::move(tell)),
      now_(std::move(now)) {
  if (choices_.adapt == 0) return;
  const std::size_t kinds = 2 * static_cast<std::size_t>(meeting_.ranks()) + kFunctions;
  for (auto& timed : timed_) timed.resize(kinds);
  told_.resize(kinds * transport::WaysBySize::kSizes);
  touched_.assign(2 * static_cast<std::size_t>(meeting_.ranks()) + 1,
                  transport::TouchedMemory(choices_.cycle));
  for (std::size_t f = 0; f < kFunctions; ++f) {
    const auto function = static_cast<Function>(f);
    for (int root = 0; root < (isRooted(function) ? meeting_.ranks() : 1); ++root)
      for (std::size_t i = 0; i < transport::WaysBySize::kSizes; ++i)
        told_[kindOf(function, root) * transport::WaysBySize::kSizes + i].reads =
            choices_.readsBlock(transport::WaysBySize::kLeast << i, function == Function::kAllReduce);
  }
}

std::size_t ReadOrStage::kindOf(Function function, int root) const {
  const auto ranks = static_cast<std::size_t>(meeting_.ranks());
  if (!isRooted(function)) return 2 * ranks + static_cast<std::size_t>(function);
  return (function == Function::kReduce ? ranks : 0) + static_cast<std::size_t>(root);
}

void ReadOrStage::start(const DirectWork& work, bool canBeRead) {
  function_ = work.function;
  root_ = work.root;
  bytes_ = blockBytes(work);
  canBeRead_ = canBeRead;
  readsWithoutTrial_ = choices_.readsBlock(bytes_, function_ == Function::kAllReduce);
  mayAdapt_ = choices_.adapt != 0 && canBeRead && transport::WaysBySize::has(bytes_);
  if (!mayAdapt_) return;
  kind_ = kindOf(function_, root_);
  toldIndex_ = kind_ * transport::WaysBySize::kSizes + transport::WaysBySize::indexOf(bytes_);
  const int rank = meeting_.rank(), ranks = meeting_.ranks();
  // A rank that only brings data does not know how long the others take.
  teller_ = function_ == Function::kReduce      ? root_
            : function_ == Function::kBroadcast ? (root_ + 1) % ranks
                                                : 0;
  // With more than two ranks, one stands for all.
  partner_ = isRooted(function_) && rank != root_ ? root_ : (rank + 1) % ranks;
}

transport::WaysBySize& ReadOrStage::timedWays() {
  std::unique_ptr<transport::WaysBySize>& ways = timed_[isFar()][kind_];
  if (ways == nullptr)
    ways = std::make_unique<transport::WaysBySize>(
        [&](std::uint64_t bytes) {
          return choices_.beginsReadBlock(bytes, function_ == Function::kAllReduce, isFar());
        },
        isRooted(function_) ? transport::Flow::kOneWay : transport::Flow::kBothWays);
  return *ways;
}

void ReadOrStage::beginTime(bool isUnmappable) {
  if (!counts_) return;
  const transport::WaysBySize& ways = timedWays();
  times_ = (isUnmappable || ways.used(bytes_)) && ways.times(bytes_);
  if (times_) begun_ = now_();
}

bool ReadOrStage::meetsAll() {
  const std::uint32_t interval = meetingInterval(bytes_);
  const bool ofAllKinds = ++stagedUnasked_ % interval == 0;
  return (adapts_ && ++told().unasked % interval == 0) || ofAllKinds;
}

std::uint8_t ReadOrStage::tellNextOfAll() {
  hearNext(timedWays().second(bytes_));
  return told().reads ? transport::PostedCall::kReadsNext : std::uint8_t{0};
}

// All ranks hear it in the same operation. Every operation that is read lets them hear again. A staged Broadcast or Reduce does not: the
// next of their meetings would come after up to 64 of these. When staging has just begun, it comes soon, as this may be a trial.
void ReadOrStage::hearNext(bool reads) {
  if (told().reads && !reads) told().soon = kTimesSoon;
  told().reads = reads;
  if (reads || told().soon == 0) return;
  --told().soon;
  const std::uint32_t interval = meetingInterval(bytes_);
  told().unasked = interval - std::min(interval, kSoon);
}

void ReadOrStage::noteTime(bool wasRead) {
  std::optional<std::chrono::nanoseconds> time;
  if (times_) time = now_() - begun_;
  if (tellsNothing_) time.reset();
  const auto change = timedWays().took(bytes_, wasRead, time);
  if (!change) return;
  const auto& timed = timed_[isFar()];
  for (const std::unique_ptr<transport::WaysBySize>& ways : timed)
    if (ways != nullptr && ways != timed[kind_] && !change->back) ways->trySoon();
  if (!tell_) return;
  // Each root has times of its own.
  const bool sends = function_ == Function::kBroadcast;
  tell_(isRooted(function_) ? fmt::format("{} {} rank {}", name(function_), sends ? "from" : "to", root_)
                            : name(function_),
        *change);
}

void ReadOrStage::resume(bool isFar) {
  for (const std::unique_ptr<transport::WaysBySize>& ways : timed_[isFar])
    if (ways != nullptr) ways->resume();
}

}  // namespace xylem::collectives
