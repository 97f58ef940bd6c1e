#pragma once
// A bootstrap for tests: roots on the loopback, settings with a short time-out, ranks as threads.
//
//   Job job(3);
//   job.run([](Bootstrap& bootstrap) { bootstrap.barrier(); });
//   EXPECT_EQ(job.errors()[1], "");

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/root.h"

namespace xylem::testing {

inline Settings loopbackSettings(int timeoutSeconds = 20) {
  Settings settings;
  settings.set(spec(Setting::kSocketIfname), "lo", "test");
  settings.set(spec(Setting::kTimeout), std::to_string(timeoutSeconds), "test");
  return settings;
}

class Job {
 public:
  using Work = std::function<void(bootstrap::Bootstrap&)>;

  explicit Job(int ranks, int timeoutSeconds = 20, int roots = 1)
      : Job(ranks, loopbackSettings(timeoutSeconds), roots) {}
  Job(int ranks, const Settings& settings, int roots = 1)
      : ranks_(ranks),
        settings_(settings),
        log_(std::make_shared<const Logger>(Settings())),
        errors_(static_cast<std::size_t>(ranks)),
        codes_(static_cast<std::size_t>(ranks), ResultCode::kSuccess),
        aborts_(static_cast<std::size_t>(ranks)) {
    for (int i = 0; i < roots; ++i) ids_.push_back(bootstrap::openRendezvous(settings_, log_));
  }

  // Every rank of `present` (all, if that is empty) joins in a thread of its own and does `work`.
  void run(const Work& work, std::vector<int> present = {}) {
    if (present.empty())
      for (int rank = 0; rank < ranks_; ++rank) present.push_back(rank);
    std::vector<std::thread> threads;
    for (const int rank : present) threads.emplace_back([this, rank, &work] { runRank(rank, work); });
    for (std::thread& thread : threads) thread.join();
  }

  const bootstrap::UniqueId& id() const { return ids_.front(); }
  const std::vector<bootstrap::UniqueId>& ids() const { return ids_; }
  const Settings& settings() const { return settings_; }
  const Logger& log() const { return *log_; }
  const std::vector<std::string>& errors() const { return errors_; }
  const std::string& error(int rank) const { return errors_[static_cast<std::size_t>(rank)]; }
  ResultCode code(int rank) const { return codes_[static_cast<std::size_t>(rank)]; }
  sockets::AbortFlag& abortFlag(int rank) { return aborts_[static_cast<std::size_t>(rank)]; }

 private:
  void runRank(int rank, const Work& work) {
    const auto r = static_cast<std::size_t>(rank);
    std::unique_ptr<bootstrap::Bootstrap> bootstrap;
    try {
      bootstrap = bootstrap::Bootstrap::join(ids_, rank, ranks_, settings_, *log_, &aborts_[r]);
      work(*bootstrap);
    } catch (const Error& error) {
      errors_[r] = error.what();
      codes_[r] = error.code();
      if (bootstrap) bootstrap->abort(error.what());
    }
  }

  int ranks_;
  Settings settings_;
  std::shared_ptr<const Logger> log_;
  std::vector<bootstrap::UniqueId> ids_;
  std::vector<std::string> errors_;
  std::vector<ResultCode> codes_;
  std::vector<sockets::AbortFlag> aborts_;
};

}  // namespace xylem::testing
