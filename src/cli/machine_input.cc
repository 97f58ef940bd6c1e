#include "cli/machine_input.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/terminal.h"
#include "topology/detect.h"

namespace xylem::cli {
namespace {

bool isThisMachine(const std::string& file) { return file.empty() || file == "-"; }

}  // namespace

Settings readSettings() {
  Settings settings = Settings::fromEnvironment();
  for (const std::string& warning : settings.warnings()) warn(warning);
  return settings;
}

Document readMachine(const std::string& file, const Settings& settings, int devices) {
  if (isThisMachine(file)) {
    const int wanted = static_cast<int>(settings.integer(Setting::kHostDevices));
    return detectTopology({.hostDevices = std::max(wanted, devices),
                           .hostId = settings.text(Setting::kHostId),
                           .interfaces = settings.text(Setting::kSocketIfname)});
  }
  std::vector<std::string> ignored;
  Document document = readTopology(file, &ignored);
  for (const std::string& element : ignored) warn(element);
  return document;
}

std::string machineName(const std::string& file) { return isThisMachine(file) ? "this machine" : file; }

}  // namespace xylem::cli
