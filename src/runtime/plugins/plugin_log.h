#pragma once
// What plugins say goes to the log of the process, in the log's format.
//
//   const abi::LogFunction say = pluginLog(log);          // plugins keep it for as long as they live

#include <memory>

#include "core/log.h"
#include "runtime/plugins/abi.h"

namespace xylem {

// From then on plugins, all of them, write to `log`.
abi::LogFunction pluginLog(std::shared_ptr<const Logger> log);

}  // namespace xylem
