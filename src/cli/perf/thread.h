#pragma once
// One thread of `xylem perf` and the ranks that it drives: runs every case, out of place and in place, with
// nccl-tests' order of things: warm up, meet, measure, check.
//
//   PerfThread thread(options, firstRank, firstDevice);
//   thread.join(id);
//   thread.run(outlet);      // the outlet hears from each rank

#include <memory>
#include <vector>

#include "cli/perf/message.h"
#include "cli/perf/options.h"
#include "cli/perf/rank.h"

namespace xylem::cli {

class PerfThread;

// Where a thread's ranks say what they have to say; called by that thread.
class PerfOutlet {
 public:
  virtual ~PerfOutlet() = default;
  virtual void joined(PerfThread& thread, const std::vector<PerfMessage>& hellos) = 0;
  virtual void measured(PerfThread& thread, const PerfCase& c, const std::vector<PerfMessage>& results) = 0;
};

class PerfThread {
 public:
  PerfThread(const PerfOptions& options, int firstRank, int firstDevice);

  int firstRank() const { return ranks_.front()->rank(); }
  void join(const ncclUniqueId& id);
  void run(PerfOutlet& outlet);
  // The messages of all ranks of the job, by rank. All threads call it together.
  std::vector<PerfMessage> exchange(const std::vector<PerfMessage>& mine);

 private:
  // `call(rank)` for each rank, as one operation.
  template <typename Call>
  void together(bool group, Call&& call);
  void launch(const PerfCase& c, bool inPlace, int times);
  void meet();
  void synchronize();
  void measure(const PerfCase& c, bool inPlace, PerfMessage::Timing PerfMessage::*timing,
               std::vector<PerfMessage>& results);

  const PerfOptions& options_;
  std::vector<std::unique_ptr<PerfRank>> ranks_;
};

}  // namespace xylem::cli
