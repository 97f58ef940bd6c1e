#include "cli/machine_input.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "cli/terminal.h"
#include "cli/zoo.h"
#include "planner/rules/changes.h"
#include "planner/topology/detect.h"

namespace xylem::cli {

bool isThisMachine(const std::string& file) { return file.empty() || file == "-"; }

Settings readSettings() {
  Settings settings = Settings::fromEnvironment();
  for (const std::string& warning : settings.warnings()) warn(warning);
  return settings;
}

namespace {

// NCCL_NET_MERGE_POLICY: RAIL in any case; any other text is ALL.
bool isRail(std::string policy) {
  std::transform(policy.begin(), policy.end(), policy.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return policy == "RAIL";
}

}  // namespace

topology::Document detectMachine(const Settings& settings, const MachineOptions& options) {
  const int devices = std::max(static_cast<int>(settings.integer(Setting::kHostDevices)), options.devices);
  const std::unique_ptr<topology::GpuSource> gpus =
      devices > 0 ? nullptr : topology::gpuSourceOf(options.root);
  topology::DetectOptions detect;
  detect.hostDevices = devices;
  detect.hostId = settings.text(Setting::kHostId);
  detect.interfaces = settings.text(Setting::kSocketIfname);
  detect.root = options.root;
  detect.gpus = gpus.get();
  detect.topologyFile = settings.text(Setting::kTopoFile);
  detect.rdma.disable = settings.integer(Setting::kIbDisable) != 0;
  detect.rdma.hca = settings.text(Setting::kIbHca);
  detect.rdma.mergeFunctions = settings.integer(Setting::kIbMergeVfs) != 0;
  const auto rules = options.rules != nullptr ? options.rules : rules::rulesOf(settings);
  detect.rdma.byBusId = rules->ordersNicsByBusId && settings.integer(Setting::kIbDevicePciOrder) != 0;
  detect.rdma.namesPlaces = rules->rails;
  detect.rdma.portsShareCard = rules->portsShareCard;
  const std::unique_ptr<topology::RdmaFactSource> rdma = topology::rdmaFactsOf(options.root);
  detect.rdma.facts = rdma.get();
  if (rules->dataDirect != rules::DataDirect::kNever)
    detect.rdma.dataDirect = static_cast<int>(settings.integer(Setting::kIbDataDirect));
  detect.rdma.directNeedsDmaBuf = rules->dataDirect == rules::DataDirect::kWithDmaBuf;
  detect.rdma.asksSpeed = rules->asksPortSpeeds && settings.integer(Setting::kIbQueryPortSpeed) != 0;
  detect.rules = rules;
  if (options.merged)
    detect.merge = topology::MergeOptions{
        settings.text(Setting::kNetMergeLevel), settings.text(Setting::kNetForceMerge),
        isRail(settings.text(Setting::kNetMergePolicy)), settings.integer(Setting::kIbMergeNics) != 0};
  std::vector<std::string> remarks;
  topology::Document document = topology::detectTopology(detect, &remarks);
  for (const std::string& remark : remarks) warn(remark);
  return document;
}

topology::Document readMachine(const std::string& file, const Settings& settings) {
  if (isThisMachine(file)) return detectMachine(settings);
  std::vector<std::string> ignored;
  topology::Document document = topology::readTopology(machineFile(file), &ignored);
  for (const std::string& element : ignored) warn(element);
  return document;
}

std::string machineName(const std::string& file) { return isThisMachine(file) ? "this machine" : file; }

}  // namespace xylem::cli
