// xylem detect: this machine, or a captured one, as topology XML.
#include "planner/topology/detect.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/machine_input.h"
#include "cli/terminal.h"
#include "cli/version_input.h"
#include "core/text_file.h"
#include "planner/topology/as_written.h"
#include "planner/topology/detect_capture.h"

namespace xylem::cli {
namespace {

struct DetectArguments {
  MachineOptions machine;
  std::string output;
  std::string capture;
  std::string nccl;
};

constexpr const char* kDetectExamples = R"(Examples:
  xylem detect                    print this machine
  xylem detect -o node.xml        write it to a file, for `xylem plan node.xml` anywhere else
  xylem detect --merged           the network devices as a job uses them: the ports of a card as one
  xylem detect --nccl 2.30.7      with the attributes that this version writes; without it, those of all versions
  xylem detect --devices 8        with at least 8 host devices, not GPUs (default without GPUs: one per core)
  xylem detect --capture node7    copy what this is made of to a folder, to look at it elsewhere
  xylem detect --root node7       the machine that was captured there
  NCCL_TOPO_FILE=vm.xml xylem detect
                                  what NCCL makes of a file and this machine together
  NCCL_SOCKET_IFNAME=eth1 xylem detect
                                  with the interfaces that a job under this setting would use)";

int runCapture(const DetectArguments& options) {
  const topology::GpuInventory inventory = topology::gpuSourceOf(options.machine.root)->read();
  for (const std::string& remark : inventory.remarks) warn(remark);
  topology::captureMachine(options.machine.root, inventory.gpus,
                           topology::rdmaFactsOf(options.machine.root)->read(), options.capture);
  return kOk;
}

int runDetect(const DetectArguments& options) {
  if (std::error_code error; !std::filesystem::is_directory(options.machine.root, error))
    throw InputError({"--root", 0}, "`" + options.machine.root + "`, which is no folder",
                     "one that `xylem detect --capture` made");
  const std::filesystem::path root(options.machine.root);
  const auto holds = [&](const char* folder) { return std::filesystem::exists(root / folder); };
  if (!holds("sys") && !holds("proc") && !holds("xylem"))
    throw InputError({"--root", 0}, "`" + options.machine.root + "`, which holds no sys, proc or xylem",
                     "one that `xylem detect --capture` made, or the root of a system");
  const Settings settings = readSettings();
  if (!options.capture.empty()) return runCapture(options);
  MachineOptions how = options.machine;
  if (!options.nccl.empty()) how.rules = rulesNamed(options.nccl, settings);
  topology::Document machine = detectMachine(settings, how);
  if (how.rules != nullptr) machine = topology::asWrittenBy(*how.rules, std::move(machine));
  const std::string text = topology::writeTopology(machine);
  if (options.output.empty() || options.output == "-")
    writeOut(text);
  else
    writeFile(options.output, text);
  return kOk;
}

}  // namespace

void addDetect(CommandLine& line) {
  const auto options = std::make_shared<DetectArguments>();
  Command command = line.add("detect", "describe this machine as NCCL topology XML");
  command.option("--devices", options->machine.devices, "describe at least N host devices, and no GPUs")
      .value("N")
      .within(0, topology::kMaxHostDevices);
  command.option("-o,--output", options->output, "write to FILE instead of standard output").value("FILE");
  command.flag("--merged", options->machine.merged,
               "with the virtual network devices that NCCL makes of several ports");
  command.option("--nccl", options->nccl, "with the attributes that this version of NCCL writes")
      .value("VERSION");
  command.option("--root", options->machine.root, "describe the machine captured in DIR, not this one")
      .value("DIR");
  command.option("--capture", options->capture, "copy what describes this machine into the new folder DIR")
      .value("DIR");
  command.footer(kDetectExamples);
  command.action([options] { return runDetect(*options); });
}

}  // namespace xylem::cli
