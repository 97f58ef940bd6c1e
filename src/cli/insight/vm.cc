// xylem vm: the topology file of a virtual machine, made from its host's, or from its own dump.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/machine_input.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/text_file.h"
#include "insight/lint/lint.h"
#include "insight/vm/cloud.h"
#include "insight/vm/vm_topology.h"
#include "insight/whatif/devices.h"
#include "insight/whatif/edit.h"
#include "insight/whatif/pairing.h"
#include "planner/rules/changes.h"
#include "planner/topology/complete.h"

namespace xylem::cli {
namespace {

struct VmArguments {
  std::string file, host, map, output;
  std::vector<std::string> pairs;  // "auto", or NET=GPU
  bool json = false;
};

constexpr const char* kVmExamples =
    R"(The map has a line per device: its bus id or name on the host, then its bus id in the guest, and for network
devices their name in the guest if it is another one:
  # host        guest         name
  0000:1b:00.0  0000:05:00.0
  mlx5_2        0000:06:00.0  mlx5_0
  numa1         numa0

With FILE, the virtual machine's own dump (NCCL_TOPO_DUMP_FILE, or `xylem detect` inside), nothing of the host is
needed: --pair says which NIC is beside which GPU. `auto` pairs them in order, per CPU where the dump tells the CPU
of both, as it is on the instance types of the large clouds; the answer names the type if the devices show it.

Examples:
  xylem vm guest.xml --pair auto -o vm.xml               from inside alone: NICs beside GPUs, in order
  xylem vm guest.xml --pair mlx5_0=gpu1,mlx5_1=gpu0 -o vm.xml
                                                         the pairs that you know
  xylem detect -o host.xml                               on the host
  xylem vm --host host.xml --guest-map vm.map -o vm.xml  then NCCL_TOPO_FILE=vm.xml in the guest
  xylem vm --host host.xml --guest-map vm.map            print it
  xylem lint vm.xml && xylem plan vm.xml --nodes 2       what NCCL will do with it)";

// The virtual machine's file, and what its user should check.
struct Guest {
  topology::Document document;
  std::size_t devices = 0;
  std::vector<std::string> remarks;
};

nlohmann::ordered_json toJson(const Guest& guest) {
  const nlohmann::ordered_json json = {{"format", "xylem-vm-1"},
                                       {"devices", guest.devices},
                                       {"remarks", guest.remarks},
                                       {"topology", topology::writeTopology(guest.document)}};
  return json;
}

std::vector<whatif::Edit> pairingEdits(const std::vector<std::string>& pairs,
                                       const topology::Document& dump) {
  if (pairs == std::vector<std::string>{"auto"}) return {whatif::parseEdit("pair nets with gpus")};
  std::vector<whatif::Edit> edits;
  const whatif::Devices devices(dump);
  std::set<topology::ElementId> paired;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size())
      throw InputError({"--pair", 0}, fmt::format("`{}`", pair), "auto, or NET=GPU,..., as mlx5_0=gpu1");
    const std::string net = pair.substr(0, equals), gpu = pair.substr(equals + 1);
    // A later pair would take the device out of the switch of an earlier one.
    for (const std::string& word : {net, gpu})
      for (const topology::ElementId device :
           devices.named(word, whatif::Devices::kGpu | whatif::Devices::kNet, "--pair"))
        if (!paired.insert(device).second)
          throw InputError({"--pair", 0}, fmt::format("`{}` in two pairs", word), "each device in one pair");
    edits.push_back(whatif::parseEdit(fmt::format("pair {} with {}", net, gpu)));
  }
  return edits;
}

// From the dump of the virtual machine alone.
Guest pairedGuest(const VmArguments& options, const Settings& settings) {
  topology::Document dump =
      topology::completeForJob(readMachine(options.file, settings), *rules::rulesOf(settings));
  Guest guest{whatif::applyEdits({dump, settings}, pairingEdits(options.pairs, dump)).document, 0, {}};
  const whatif::Devices devices(guest.document);
  guest.devices = devices.gpus().size() + devices.nets().size();
  const bool isAuto = options.pairs.front() == "auto";
  if (whatif::showsPairs(dump))
    guest.remarks.emplace_back(
        "the file shows PCI switches that hold GPUs and NICs: pairing them may be wrong");
  if (const vm::CloudInstance* cloud = vm::cloudInstanceOf(dump))
    guest.remarks.push_back(fmt::format("{} GPUs and {} NICs as on {}{}", cloud->gpus, cloud->nets,
                                        cloud->name,
                                        isAuto ? ", where they belong together in this order" : ""));
  else if (isAuto)
    guest.remarks.emplace_back(
        "no instance type that is known: the pairs are a guess by order; compare the bandwidth, or your "
        "provider's "
        "file");
  return guest;
}

// From the host's file.
Guest mappedGuest(const VmArguments& options, const Settings& settings) {
  const topology::Document host = readMachine(options.host, settings);
  const vm::VmMap map = vm::readVmMap(options.map);
  Guest guest{topology::Document(), map.devices.size(), {}};
  guest.document = vm::vmTopology(host, map, &guest.remarks);
  return guest;
}

int runVm(const VmArguments& options) {
  const Settings settings = readSettings();
  const bool fromDump = !options.file.empty() || !options.pairs.empty();
  if (fromDump ? options.file.empty() || options.pairs.empty() : options.host.empty() || options.map.empty())
    throw InputError({"arguments", 0}, fromDump ? "only one of FILE and --pair" : "no file to start from",
                     "FILE with --pair, or --host with --guest-map");
  Guest guest = fromDump ? pairedGuest(options, settings) : mappedGuest(options, settings);
  std::vector<std::string>& remarks = guest.remarks;
  const std::string text = topology::writeTopology(guest.document);
  const lint::LintReport report = lint::lintTopology(text, options.output.empty() ? "guest" : options.output);
  for (const lint::Finding& finding : report.findings)
    if (finding.severity != lint::Severity::kNote)
      remarks.push_back(fmt::format("{}; {}", finding.found, finding.fix));
  for (const std::string& remark : remarks) warn(remark);
  if (!options.output.empty())
    writeFile(options.output, text);
  else if (!options.json)
    writeOut(text);
  if (options.json) writeJson(toJson(guest));
  return kOk;
}

}  // namespace

void addVm(CommandLine& line) {
  const auto options = std::make_shared<VmArguments>();
  Command command =
      line.add("vm", "write the topology file of a virtual machine, from its host's or from its own dump");
  const Option file =
      command.option("FILE", options->file, "topology XML that the virtual machine itself shows");
  const Option pair =
      command.option("--pair", options->pairs, "which NIC is beside which GPU, or `auto` for their order")
          .value("auto|NET=GPU,...")
          .separatedBy(',');
  command.option("--host", options->host, "topology XML of the host; - for this machine")
      .value("FILE")
      .excludes(file)
      .excludes(pair);
  command.option("--guest-map", options->map, "which device of the host is which in the guest, see below")
      .value("FILE")
      .excludes(file)
      .excludes(pair);
  command.option("-o,--output", options->output, "write it to FILE").value("FILE");
  command.flag("--json", options->json, "print JSON, in the format xylem-vm-1");
  command.footer(kVmExamples);
  command.action([options] { return runVm(*options); });
}

}  // namespace xylem::cli
