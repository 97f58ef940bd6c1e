#pragma once
// How `xylem perf` shows what it measured: nccl-tests' table, so that its readers and scripts work, or JSON.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/perf_job.h"
#include "cli/terminal.h"

namespace xylem::cli {

class PerfReport : public PerfListener {
 public:
  PerfReport(const PerfOptions& options, Terminal terminal) : options_(options), terminal_(terminal) {}

  void joined(const std::vector<PerfMessage>& hellos) override;
  void measured(const PerfCase& c, const std::vector<PerfMessage>& results) override;
  // The last lines, or all of the JSON.
  void finish();
  std::uint64_t wrong() const { return wrong_; }

 private:
  // GB/s (1e9 bytes per second): of the buffer, and of what each rank's links carry for it.
  struct Speed {
    double microseconds = 0;
    double algorithm = 0;
    double bus = 0;
    std::uint64_t wrong = 0;
  };
  Speed speedOf(const PerfCase& c, const std::vector<PerfMessage>& results,
                PerfMessage::Timing PerfMessage::*timing) const;
  std::string cells(const Speed& speed) const;
  void printTableHead() const;

  const PerfOptions& options_;
  Terminal terminal_;
  std::vector<PerfMessage> hellos_;
  struct Row {
    PerfCase c;
    Speed outOfPlace, inPlace;
  };
  std::vector<Row> rows_;
  std::uint64_t wrong_ = 0;
};

}  // namespace xylem::cli
