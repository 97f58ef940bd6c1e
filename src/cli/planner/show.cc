// xylem show: a machine as the engine sees it.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/machine_input.h"
#include "cli/planner/machine_json.h"
#include "cli/planner/machine_tree.h"
#include "cli/machine_words.h"
#include "cli/planner/path_matrix.h"
#include "planner/paths/find_paths.h"
#include "planner/paths/job_paths.h"
#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"

namespace xylem::cli {
namespace {

struct ShowArguments {
  std::string file;
  bool json = false;
  bool bandwidth = false;
};

constexpr const char* kShowExamples = R"(Examples:
  xylem show                         this machine
  xylem show dgxh100.xml             the machine of a topology file
  xylem show dgxh100.xml --bandwidth with a second matrix: GB/s from row to column
  xylem show dgxh100.xml --json      nodes, links and paths for other programs
  NCCL_P2P_LEVEL=PIX xylem show dgxh100.xml
                                     what the setting changes: paths obey the NCCL_* variables)";

std::string heading(const Terminal& screen, const std::string& text) {
  return screen.paint(Style::kBold, text) + '\n';
}

// Machines that NCCL refuses can still be looked at: then without what it would adjust.
PathTable pathsToShow(const System& system, const ReachOptions& reach) {
  try {
    return findUsablePaths(system, reach);
  } catch (const Error& error) {
    warn(fmt::format("{}; the paths shown are those of the wires alone", error.what()));
    return findPaths(system, !reach.nvbDisable);
  }
}

int runShow(const ShowArguments& options) {
  const Settings settings = readSettings();
  const Document document = completeForJob(readMachine(options.file, settings));
  const System system = buildSystem(document);
  const PathTable paths = pathsToShow(system, ReachOptions::from(settings));
  if (options.json) {
    writeOut(machineJson(document, system, paths));
    return kOk;
  }
  const Terminal screen = terminalOf(stdout);
  std::string text =
      fmt::format("{}: {}\n\n", screen.paint(Style::kBold, machineName(options.file)), inventory(system));
  text += heading(screen, "Links, GB/s in each direction");
  text += machineTree(document, system, screen);
  if (system.count(NodeType::kGpu) + system.count(NodeType::kNet) > 0) {
    text += '\n' + heading(screen, "Paths, from row to column");
    text += pathMatrix(system, paths, Quantity::kType, screen);
    if (options.bandwidth) {
      text += '\n' + heading(screen, "Bandwidth of the paths, GB/s");
      text += pathMatrix(system, paths, Quantity::kBandwidth, screen);
    }
    text += '\n' + pathLegend(system, paths, screen);
  }
  writeOut(text);
  return kOk;
}

}  // namespace

void addShow(CommandLine& line) {
  const auto options = std::make_shared<ShowArguments>();
  Command command = line.add("show", "draw a machine: nodes, links, and how far apart they are");
  command.option("FILE", options->file, "topology XML; none or - for this machine");
  command.flag("--bandwidth", options->bandwidth, "also the bandwidth of every path");
  command.flag("--json", options->json, "print JSON");
  command.footer(kShowExamples);
  command.action([options] { return runShow(*options); });
}

}  // namespace xylem::cli
