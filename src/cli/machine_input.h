#pragma once
// The machine a command is about: a topology file, or this machine where none is given.
//
//   Settings settings = readSettings();                       // says warnings on standard error
//   Document machine = readMachine("dgxh100.xml", settings);
//   Document machine = readMachine("-", settings);            // detected here

#include <string>

#include "core/settings.h"
#include "topology/document.h"

namespace xylem::cli {

// The environment's settings; what is odd about them goes to standard error.
Settings readSettings();

// `file` may be empty or "-" for this machine, with as many host devices as XYLEM_HOST_DEVICES says or
// `devices` if that is more. Elements that NCCL does not know are named on standard error.
Document readMachine(const std::string& file, const Settings& settings, int devices = 0);

// What to call it: the file's name, or "this machine".
std::string machineName(const std::string& file);

}  // namespace xylem::cli
