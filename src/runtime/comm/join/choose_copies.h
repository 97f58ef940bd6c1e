#pragma once
// Decides how data moves among the ranks of a host: by a variable, by what is remembered of this machine since it was started, or
// by measuring. The first rank of the host decides for all its ranks and tells them (HostCopies), so that they cannot disagree.
//
//   const HostCopies copies = copiesFor(roster, settings, copyThreads(roster, settings, device));     // on the first rank of a host

#include "core/settings.h"
#include "runtime/collectives/calibration.h"
#include "runtime/comm/join/host_copies.h"
#include "runtime/comm/join/job_roster.h"
#include "runtime/transport/choices/choice_file.h"

namespace xylem::comm {

// `threads`: those that copy this rank's data. A host with one rank, and ranks that have one core together, have the defaults. Throws
// Error (ncclInvalidArgument) if a variable is invalid.
HostCopies copiesFor(const JobRoster& roster, const Settings& settings, int threads);

// How many threads copy and reduce this rank's data within its host: XYLEM_COPY_THREADS, or one per core that the ranks of its host have
// each, in the communicator that leaves this device the fewest.
int copyThreads(const JobRoster& roster, const Settings& settings, int device);

// The key by which measurements between two cores of this machine are remembered.
transport::MachineKey machineKey(const device::CorePair& cores);

}  // namespace xylem::comm
