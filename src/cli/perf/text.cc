// The table of `xylem perf`, with nccl-tests' columns.
#include <fmt/format.h>

#include "cli/perf/report.h"

namespace xylem::cli {
namespace {

// As many decimals as fit next to the whole part.
std::string paddedTime(double microseconds) {
  if (microseconds >= 10000) return fmt::format("{:7.0f}", microseconds);
  if (microseconds >= 100) return fmt::format("{:7.1f}", microseconds);
  return fmt::format("{:7.2f}", microseconds);
}

std::string cells(const PerfSpeed& speed, const Terminal& terminal) {
  std::string wrong = fmt::format("{:>6}", speed.wrong ? std::to_string(*speed.wrong) : "N/A");
  if (speed.wrong.value_or(0) > 0) wrong = terminal.paint(Style::kRed, wrong);
  return fmt::format("{}  {:6.2f}  {:6.2f} {}", paddedTime(speed.microseconds), speed.bandwidth.algorithm,
                     speed.bandwidth.bus, wrong);
}

std::string cells(const std::optional<PerfSpeed>& speed, const Terminal& terminal) {
  if (speed) return cells(*speed, terminal);
  return fmt::format("{:>7}  {:>6}  {:>6} {:>6}", "N/A", "N/A", "N/A", "N/A");
}

std::string headLine(const Terminal& terminal, const std::string& text) {
  return terminal.paint(Style::kBold, text) + "\n";
}

}  // namespace

std::string perfHead(const PerfOptions& options, const std::vector<PerfMessage>& hellos,
                     const Terminal& terminal) {
  const std::string step = options.stepBytes > 0 ? fmt::format("{}(bytes)", options.stepBytes)
                                                 : fmt::format("{}(factor)", options.stepFactor);
  std::string text = fmt::format(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} "
      "validation: {} graph: 0\n#\n# Using devices\n",
      options.threads, options.gpus, options.minBytes, options.maxBytes, step, options.warmup,
      options.iterations, options.aggregated, options.checks);
  for (const PerfMessage& hello : hellos)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [host]\n", hello.rank,
                        hello.pid, hello.text, hello.device);
  constexpr const char* kColumns =
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} {:>6}";
  text += "#\n";
  text += headLine(terminal,
                   fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           {}                       {}"
                               "          ",
                               "", "", "", "", "", "out-of-place", "in-place"));
  text +=
      headLine(terminal, fmt::format(fmt::runtime(kColumns), "size", "count", "type", "redop", "root", "time",
                                     "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"));
  text += headLine(terminal, fmt::format(fmt::runtime(kColumns), "(B)", "(elements)", "", "", "", "(us)",
                                         "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", ""));
  return text;
}

std::string perfLine(const PerfRow& row, const Terminal& terminal) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {}  {}\n", row.c.bytes(), row.c.layout.count,
                     name(row.c.type), name(row.c.op), row.c.root, cells(row.outOfPlace, terminal),
                     cells(row.inPlace, terminal));
}

std::string perfFoot(std::uint64_t wrong, double averageBus, const Terminal& terminal) {
  const std::string verdict = wrong == 0 ? "OK" : terminal.paint(Style::kRed, "FAILED");
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.5g} \n#\n", wrong, verdict,
                     averageBus);
}

}  // namespace xylem::cli
