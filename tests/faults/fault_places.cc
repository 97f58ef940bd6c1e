#include "faults/fault_places.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>

#include "core/fault_point.h"

namespace xylem::testing {
namespace {

// By FaultPoint.
constexpr std::array<std::string_view, 4> kPlaces{"post", "work", "wait", "end"};

std::array<std::atomic<int>, kPlaces.size()> left{};  // times until it strikes
std::atomic<int> signalThen{0};

void pass(FaultPoint point) {
  std::atomic<int>& times = left[static_cast<std::size_t>(point)];
  if (times.load(std::memory_order_relaxed) > 0 && times.fetch_sub(1) == 1) kill(getpid(), signalThen);
}

}  // namespace

bool strikeIn(const std::string& place, int time, int signal) {
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    if (kPlaces[i] != place) continue;
    signalThen = signal;
    left[i] = time;
    faultHook = pass;
    return true;
  }
  return false;
}

}  // namespace xylem::testing
