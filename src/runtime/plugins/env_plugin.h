#pragma once
// Plugins that answer for NCCL's variables in place of the environment (NCCL_ENV_PLUGIN), versions 1 and 2. One is loaded by the
// first call that needs it, and stays for the life of the process.
//
//   const Settings settings = settingsOfProcess();   // in place of Settings::fromEnvironment()

#include "core/settings.h"

namespace xylem::plugins {

// The environment and the configuration files, and what the plugin says instead. A variable for which it has no answer is
// not set, unless a configuration file sets it. Variables of Xylem's own are not asked for. Throws if the plugin's init
// fails. Without NCCL_ENV_PLUGIN, or if the library has no such plugin, it is Settings::fromEnvironment().
Settings settingsOfProcess();

}  // namespace xylem::plugins
