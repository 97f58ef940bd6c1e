#pragma once
// A bootstrap for tests: a root on the loopback, settings with a short time-out, ranks as threads.
//
//   Job job(3);
//   job.run([](Ring& ring) { ring.barrier(); });
//   EXPECT_EQ(job.errors()[1], "");

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/meeting.h"
#include "bootstrap/ring.h"
#include "core/error.h"

namespace xylem::testing {

inline Settings loopbackSettings(int timeoutSeconds = 20) {
  Settings settings;
  settings.set(spec(Setting::kSocketIfname), "lo", "test");
  settings.set(spec(Setting::kTimeout), std::to_string(timeoutSeconds), "test");
  return settings;
}

class Job {
 public:
  explicit Job(int ranks, int timeoutSeconds = 20)
      : ranks_(ranks),
        settings_(loopbackSettings(timeoutSeconds)),
        log_(std::make_shared<const Logger>(Settings())),
        id_(openMeeting(settings_, log_)),
        errors_(static_cast<std::size_t>(ranks)),
        codes_(static_cast<std::size_t>(ranks), ResultCode::kSuccess) {}

  // Every rank of `present` (all, if that is empty) joins in a thread of its own and does `work`.
  void run(const std::function<void(Ring&)>& work, std::vector<int> present = {}) {
    if (present.empty())
      for (int rank = 0; rank < ranks_; ++rank) present.push_back(rank);
    std::vector<std::thread> threads;
    for (const int rank : present) threads.emplace_back([this, rank, &work] { runRank(rank, work); });
    for (std::thread& thread : threads) thread.join();
  }

  const UniqueId& id() const { return id_; }
  const Settings& settings() const { return settings_; }
  const Logger& log() const { return *log_; }
  const std::vector<std::string>& errors() const { return errors_; }
  ResultCode code(int rank) const { return codes_[static_cast<std::size_t>(rank)]; }

 private:
  void runRank(int rank, const std::function<void(Ring&)>& work) {
    const auto r = static_cast<std::size_t>(rank);
    std::unique_ptr<Ring> ring;
    try {
      ring = Ring::join(id_, rank, ranks_, settings_, *log_);
      work(*ring);
    } catch (const Error& error) {
      errors_[r] = error.what();
      codes_[r] = error.code();
      if (ring) ring->abort(error.what());
    }
  }

  int ranks_;
  Settings settings_;
  std::shared_ptr<const Logger> log_;
  UniqueId id_;
  std::vector<std::string> errors_;
  std::vector<ResultCode> codes_;
};

}  // namespace xylem::testing
