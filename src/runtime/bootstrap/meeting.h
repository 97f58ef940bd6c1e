#pragma once
// Ids, and the roots behind them.
//
//   UniqueId id = openMeeting(settings, log);      // ncclGetUniqueId: starts a root, or takes NCCL_COMM_ID
//   hostCommId(id, settings, log);                 // rank 0, before it joins: starts NCCL_COMM_ID's root

#include <memory>

#include "runtime/bootstrap/unique_id.h"
#include "core/log.h"
#include "core/settings.h"

namespace xylem {

UniqueId openMeeting(const Settings& settings, std::shared_ptr<const Logger> log);

// Nothing happens unless NCCL_COMM_ID is set.
void hostCommId(const UniqueId& id, const Settings& settings, std::shared_ptr<const Logger> log);

}  // namespace xylem
