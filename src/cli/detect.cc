// xylem detect: this machine as topology XML.
#include "topology/detect.h"

#include <fmt/core.h>

#include <memory>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/machine_input.h"
#include "cli/terminal.h"
#include "core/text_file.h"

namespace xylem::cli {
namespace {

struct Options {
  int devices = 0;
  std::string output;
};

constexpr const char* kExamples = R"(Examples:
  xylem detect                    print this machine
  xylem detect -o node.xml        write it to a file, for `xylem plan node.xml` anywhere else
  xylem detect --devices 8        with at least 8 host devices (default: one per core)
  NCCL_SOCKET_IFNAME=eth1 xylem detect
                                  with the interfaces that a job under this setting would use)";

int runDetect(const Options& options) {
  const Settings settings = readSettings();
  const std::string text = writeTopology(readMachine("", settings, options.devices));
  if (options.output.empty() || options.output == "-")
    writeOut(text);
  else
    writeFile(options.output, text);
  return kOk;
}

}  // namespace

void addDetect(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("detect", "describe this machine as NCCL topology XML");
  command->add_option("--devices", options->devices, "describe at least N host devices")
      ->type_name("N")
      ->check(integerIn(0, kMaxHostDevices));
  command->add_option("-o,--output", options->output, "write to FILE instead of standard output")
      ->type_name("FILE");
  command->footer(kExamples);
  command->callback([&action, options] { action = [options] { return runDetect(*options); }; });
}

}  // namespace xylem::cli
