#include "faults/fault_places.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>

#include "core/shareable_memory.h"
#include "runtime/collectives/combine_all.h"
#include "runtime/comm/watch/flight_recorder.h"

namespace xylem::testing {
namespace {

constexpr std::array<std::string_view, 4> kPlaces{"post", "work", "wait", "end"};

std::array<std::atomic<int>, kPlaces.size()> left{};  // times until it strikes
std::atomic<int> signalThen{0};

void pass(std::size_t place) {
  std::atomic<int>& times = left[place];
  if (times.load(std::memory_order_relaxed) > 0 && times.fetch_sub(1) == 1) kill(getpid(), signalThen);
}

}  // namespace

bool strikeIn(const std::string& place, int time, int signal) {
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    if (kPlaces[i] != place) continue;
    signalThen = signal;
    left[i] = time;
    return true;
  }
  return false;
}

// Names of the linker: `real` is the library's function, `wrapped` the one that its callers get.
#define XYLEM_FIND "_ZN5xylem15ShareableMemory4findEPKvm"
#define XYLEM_COMBINE                                          \
  "_ZN5xylem11collectives10combineAllERKNS0_9ReductionERKNS0_" \
  "14CombineSourcesESt4spanIKPSt4byteLm18446744073709551615EEmb"
#define XYLEM_WAIT "_ZN5xylem4comm14LaunchRecorder4waitEiNS0_8WaitKindE"
#define XYLEM_END "_ZN5xylem4comm14LaunchRecorder3endEb"

using Found = std::optional<ShareableMemory::Place>;
Found realFind(const void*, std::size_t) noexcept asm("__real_" XYLEM_FIND);
Found wrappedFind(const void*, std::size_t) noexcept asm("__wrap_" XYLEM_FIND);
Found wrappedFind(const void* address, std::size_t bytes) noexcept {
  pass(0);
  return realFind(address, bytes);
}

void realCombine(const collectives::Reduction&, const collectives::CombineSources&,
                 std::span<std::byte* const>, std::size_t, bool) asm("__real_" XYLEM_COMBINE);
void wrappedCombine(const collectives::Reduction&, const collectives::CombineSources&,
                    std::span<std::byte* const>, std::size_t, bool) asm("__wrap_" XYLEM_COMBINE);
void wrappedCombine(const collectives::Reduction& reduction, const collectives::CombineSources& sources,
                    std::span<std::byte* const> out, std::size_t n, bool streaming) {
  pass(1);
  realCombine(reduction, sources, out, n, streaming);
}

void realWait(comm::LaunchRecorder*, int, comm::WaitKind) asm("__real_" XYLEM_WAIT);
void wrappedWait(comm::LaunchRecorder*, int, comm::WaitKind) asm("__wrap_" XYLEM_WAIT);
void wrappedWait(comm::LaunchRecorder* flight, int peer, comm::WaitKind kind) {
  pass(2);
  realWait(flight, peer, kind);
}

void realEnd(comm::LaunchRecorder*, bool) noexcept asm("__real_" XYLEM_END);
void wrappedEnd(comm::LaunchRecorder*, bool) noexcept asm("__wrap_" XYLEM_END);
void wrappedEnd(comm::LaunchRecorder* flight, bool failed) noexcept {
  pass(3);
  realEnd(flight, failed);
}

}  // namespace xylem::testing
