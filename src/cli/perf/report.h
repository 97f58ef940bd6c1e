#pragma once
// How `xylem perf` shows what it measured: nccl-tests' table, so that its readers and scripts work, or JSON.
//
//   PerfReport report(options, terminalOf(stdout));
//   job.run(report);
//   report.finish();

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/perf/process.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace xylem::cli {

// What the ranks measured together, in one of the two ways.
struct PerfSpeed {
  double microseconds = 0;
  Bandwidth bandwidth;
  std::optional<std::uint64_t> wrong;  // nothing if it was not checked
};
struct PerfRow {
  PerfCase c;
  PerfSpeed outOfPlace;
  std::optional<PerfSpeed> inPlace;  // nothing where it has no meaning
};

PerfRow rowOf(const PerfOptions& options, const PerfCase& c, const std::vector<PerfMessage>& results);

// The lines of the table.
std::string perfHead(const PerfOptions& options, const std::vector<PerfMessage>& hellos,
                     const Terminal& terminal);
std::string perfLine(const PerfRow& row, const Terminal& terminal);
std::string perfFoot(std::uint64_t wrong, double averageBus, const Terminal& terminal);
// All of it.
std::string perfJson(const PerfOptions& options, const std::vector<PerfMessage>& hellos,
                     const std::vector<PerfRow>& rows, std::uint64_t wrong, double averageBus);

class PerfReport : public PerfListener {
 public:
  PerfReport(const PerfOptions& options, Terminal terminal);

  void joined(const std::vector<PerfMessage>& hellos) override;
  void measured(const PerfCase& c, const std::vector<PerfMessage>& results) override;
  // The last lines, or all of the JSON.
  void finish();
  std::uint64_t wrong() const { return wrong_; }

 private:
  // Says what is waited for; an empty line is wiped before anything is printed.
  void announceNext();

  const PerfOptions& options_;
  Terminal terminal_;
  std::size_t cases_;
  std::vector<PerfMessage> hellos_;
  std::vector<PerfRow> rows_;
  std::uint64_t wrong_ = 0;
  std::optional<Progress> progress_;
};

}  // namespace xylem::cli
