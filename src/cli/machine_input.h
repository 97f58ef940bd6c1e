#pragma once
// The machine that a command is about: a topology file, or this machine if no file is given.
//
//   Settings settings = readSettings();                       // warnings go to standard error
//   Document machine = readMachine("dgxh100.xml", settings);
//   Document machine = readMachine("-", settings);            // detected here

#include <memory>
#include <string>

#include "core/settings.h"
#include "planner/rules/changes.h"
#include "planner/topology/document.h"

namespace xylem::cli {

// The environment's settings. Warnings about them go to standard error.
Settings readSettings();

// `file` may be empty or "-" for this machine, or the name of a machine of the zoo. Standard error names the
// elements that NCCL does not know.
topology::Document readMachine(const std::string& file, const Settings& settings);

// The machine to detect, beyond the settings.
struct MachineOptions {
  // At least this many host devices, in place of GPUs; 0: host devices only if there are no GPUs.
  int devices = 0;
  // The folder of a captured machine in place of this one.
  std::string root = "/";
  // Merge network devices as a job does: the ports of a card become one.
  bool merged = false;
  // By which devices are merged and descriptions trimmed; null for those that XYLEM_NCCL names.
  std::shared_ptr<const rules::RuleSet> rules;
};
topology::Document detectMachine(const Settings& settings, const MachineOptions& options = {});

// Returns whether `file` is empty or "-".
bool isThisMachine(const std::string& file);

// The machine's name for people: the file's name, or "this machine".
std::string machineName(const std::string& file);

}  // namespace xylem::cli
