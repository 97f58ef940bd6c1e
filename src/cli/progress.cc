#include "cli/progress.h"

#include <fmt/core.h>

#include <chrono>

#include "cli/terminal.h"

namespace xylem::cli {

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (terminalOf(stderr).interactive) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Progress::say(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Progress::show() {
  constexpr std::chrono::seconds kStep(1);
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  bool shown = false;
  while (!stop_.wait_for(lock, kStep, [this] { return stopped_; })) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    fmt::print(stderr, "\r\033[K{} … {} s", what_, seconds.count());
    std::fflush(stderr);
    shown = true;
  }
  if (shown) fmt::print(stderr, "\r\033[K");
}

}  // namespace xylem::cli
