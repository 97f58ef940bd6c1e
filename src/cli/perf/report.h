#pragma once
// The report of `xylem perf`: nccl-tests' table, so that its readers and scripts work, or JSON.
//
//   PerfReport report(options, terminalOf(stdout), writeOut);
//   const int status = job.run(report);       // prints line by line
//   report.finish();

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/perf/job.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace xylem::cli {

// The measurement of all ranks, out of place or in place.
struct PerfSpeed {
  // Until operations were enqueued, if that is asked for; the bandwidth is that of done ones.
  double microseconds = 0;
  Bandwidth bandwidth;
  std::optional<std::uint64_t> wrong;  // elements; none if nothing was checked
};
// Combines the ranks' results.
PerfSpeed speedOf(const PerfOptions& options, const PerfCase& c, const std::vector<PerfMessage>& results,
                  PerfMessage::Timing PerfMessage::*timing);
struct PerfRow {
  PerfCase c;
  PerfSpeed outOfPlace;
  std::optional<PerfSpeed> inPlace;  // none if the operation is not defined in place
};

class PerfReport : public PerfListener {
 public:
  using Print = std::function<void(std::string_view text)>;
  // `print` gets the lines of the table that come before finish().
  PerfReport(const PerfOptions& options, Terminal terminal, Print print);

  void joined(const std::vector<PerfMessage>& hellos) override;
  void measured(const PerfCase& c, const std::vector<PerfMessage>& results) override;
  // The processes are started, and no rank has joined yet.
  void starts();
  // Writes the last lines, or the JSON.
  void finish();
  std::uint64_t wrong() const { return wrong_; }

 private:
  // Starts the progress line of the next case. It must be wiped before anything is printed.
  void announceNext();

  const PerfOptions& options_;
  Terminal terminal_;
  Print print_;
  std::size_t cases_;
  std::vector<PerfMessage> hellos_;
  std::vector<PerfRow> rows_;
  std::uint64_t wrong_ = 0;
  std::optional<Progress> progress_;
};

}  // namespace xylem::cli
