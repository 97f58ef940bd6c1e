#pragma once
// The machine a command is about: a topology file, or this machine where none is given.
//
//   Settings settings = readSettings();                       // says warnings on standard error
//   Document machine = readMachine("dgxh100.xml", settings);
//   Document machine = readMachine("-", settings);            // detected here

#include <string>

#include "core/settings.h"
#include "planner/topology/document.h"

namespace xylem::cli {

// The environment's settings; what is odd about them goes to standard error.
Settings readSettings();

// `file` may be empty or "-" for this machine. Elements that NCCL does not know are named on standard error.
Document readMachine(const std::string& file, const Settings& settings);

// The machine to detect, beyond what the settings say.
struct MachineOptions {
  // As many host devices or more, in place of GPUs; 0: only where there are no GPUs.
  int devices = 0;
  // A captured machine in place of this one.
  std::string root = "/";
  // Network devices as a job uses them: the ports of a card as one.
  bool merged = false;
};
Document detectMachine(const Settings& settings, const MachineOptions& options = {});

// Empty or "-".
bool isThisMachine(const std::string& file);

// What to call it: the file's name, or "this machine".
std::string machineName(const std::string& file);

}  // namespace xylem::cli
