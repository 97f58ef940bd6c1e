#pragma once
// Turns the operations of a group into the work items of a launch. Each collective gets its algorithm,
// protocol, channels and chunks, or becomes an exchange among the ranks of a host; each send and receive gets
// its parts; sends of a rank to itself are paired with their receives.
//
//   const Scheduling scheduling{rank, ranks, stepBytes, links.channels(), choices, transfers};
//   schedule(operations, scheduling, work);

#include <cstddef>
#include <limits>
#include <span>

#include "planner/tuning/split.h"
#include "runtime/collectives/direct_exchange.h"
#include "runtime/comm/issue/choices.h"
#include "runtime/comm/issue/launch_work.h"
#include "runtime/comm/issue/mailboxes.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/issue/transfers.h"
#include "runtime/comm/join/links.h"

namespace xylem::comm {

struct Scheduling {
  int rank = 0;
  int ranks = 1;
  transport::StepBytes stepBytes{};
  std::span<const ChannelLinks> channels;
  Choices& choices;
  Transfers& transfers;
  Mailboxes* mailboxes = nullptr;  // null: the ranks have none
  bool onlyNvls = false;           // only collectives of NVLS go over the mailboxes
  bool checked = false;            // sends tell receives what they send (XYLEM_CHECK)
};

// Whether a collective becomes an exchange. `collectives`: how many its group has.
bool isExchange(const CommOperation& operation, int collectives, const Scheduling& scheduling);

// An operation as the planner splits it over channels: in elements.
tuning::SplitTask taskOf(const CommOperation& operation, const ChosenAlgorithm& chosen);

// For a group that does not go over the mailboxes alone. Not an std::optional: its two parts are written one by one, and a processor that
// reads both at once waits until all writes before are done, also those that wait for another core's cache lines.
constexpr std::size_t kNotExchanged = std::numeric_limits<std::size_t>::max();

// Throws ncclInvalidUsage for sends to oneself without a receive of the same size, and for such receives.
// Returns the bytes of all collectives if these go over the mailboxes and there is nothing else, and otherwise kNotExchanged.
// `work`: what was in it before is dropped.
std::size_t schedule(std::span<const CommOperation> operations, const Scheduling& scheduling,
                     LaunchWork& work);

}  // namespace xylem::comm
