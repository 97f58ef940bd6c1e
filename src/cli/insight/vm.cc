// xylem vm: the topology file of a virtual machine, made from its host's.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/machine_input.h"
#include "cli/terminal.h"
#include "core/text_file.h"
#include "insight/lint/lint.h"
#include "insight/vm/vm_topology.h"

namespace xylem::cli {
namespace {

struct VmArguments {
  std::string host, map, output;
  bool json = false;
};

constexpr const char* kVmExamples =
    R"(The map has a line per device: its bus id or name on the host, then its bus id in the guest, and for network
devices their name in the guest if it is another one:
  # host        guest         name
  0000:1b:00.0  0000:05:00.0
  mlx5_2        0000:06:00.0  mlx5_0
  numa1         numa0

Examples:
  xylem detect -o host.xml                               on the host
  xylem vm --host host.xml --guest-map vm.map -o vm.xml  then NCCL_TOPO_FILE=vm.xml in the guest
  xylem vm --host host.xml --guest-map vm.map            print it
  xylem lint vm.xml && xylem plan vm.xml --nodes 2       what NCCL will do with it)";

nlohmann::ordered_json toJson(const topology::Document& guest, const vm::VmMap& map,
                              const std::vector<std::string>& remarks) {
  const nlohmann::ordered_json json = {{"format", "xylem-vm-1"},
                                       {"devices", map.devices.size()},
                                       {"remarks", remarks},
                                       {"topology", topology::writeTopology(guest)}};
  return json;
}

int runVm(const VmArguments& options) {
  const topology::Document host = readMachine(options.host, readSettings());
  const vm::VmMap map = vm::readVmMap(options.map);
  std::vector<std::string> remarks;
  const topology::Document guest = vm::vmTopology(host, map, &remarks);
  const std::string text = topology::writeTopology(guest);
  const lint::LintReport report = lint::lintTopology(text, options.output.empty() ? "guest" : options.output);
  for (const lint::Finding& finding : report.findings)
    if (finding.severity != lint::Severity::kNote)
      remarks.push_back(fmt::format("{}; {}", finding.found, finding.fix));
  for (const std::string& remark : remarks) warn(remark);
  if (!options.output.empty())
    writeFile(options.output, text);
  else if (!options.json)
    writeOut(text);
  if (options.json) writeJson(toJson(guest, map, remarks));
  return kOk;
}

}  // namespace

void addVm(CommandLine& line) {
  const auto options = std::make_shared<VmArguments>();
  Command command =
      line.add("vm", "write the topology file of a virtual machine from its host's and the bus ids inside");
  command.option("--host", options->host, "topology XML of the host; - for this machine")
      .value("FILE")
      .required();
  command.option("--guest-map", options->map, "which device of the host is which in the guest, see below")
      .value("FILE")
      .required();
  command.option("-o,--output", options->output, "write it to FILE").value("FILE");
  command.flag("--json", options->json, "print JSON, in the format xylem-vm-1");
  command.footer(kVmExamples);
  command.action([options] { return runVm(*options); });
}

}  // namespace xylem::cli
