#include "runtime/comm/join/init_timer.h"

#include <fmt/format.h>

namespace xylem {
namespace {

constexpr std::array<const char*, kInitParts> kNames = {"kernels", "alloc",  "bootstrap",  "allgathers",
                                                        "topo",    "graphs", "connections"};

double secondsOf(InitTimer::Clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

void InitTimer::lap(InitPart part) {
  const auto now = Clock::now();
  parts_[static_cast<std::size_t>(part)] += secondsOf(now - last_);
  last_ = now;
}

const char* InitTimer::name(InitPart part) { return kNames[static_cast<std::size_t>(part)]; }

double InitTimer::total() const { return secondsOf(Clock::now() - start_); }

std::string InitTimer::text() const {
  const double all = total();
  double rest = all;
  std::string text = fmt::format("total {:.2f} (", all);
  for (std::size_t i = 0; i < kInitParts; ++i) {
    rest -= parts_[i];
    text += fmt::format("{} {:.2f}, ", kNames[i], parts_[i]);
  }
  return text + fmt::format("rest {:.2f})", rest < 0 ? 0 : rest);
}

}  // namespace xylem
