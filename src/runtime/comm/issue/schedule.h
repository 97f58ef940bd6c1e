#pragma once
// From the operations of a group to the works of a launch: each collective gets its algorithm, protocol,
// channels and chunks; each send and receive its parts; sends to oneself meet their receives.
//
//   Scheduling scheduling{rank, links.channels(), choices, transfers};
//   schedule(operations, scheduling, launch);

#include <optional>
#include <span>

#include "runtime/comm/issue/choices.h"
#include "runtime/comm/issue/launch.h"
#include "runtime/comm/issue/links.h"
#include "runtime/comm/issue/transfers.h"

namespace xylem {

struct Scheduling {
  int rank = 0;
  int ranks = 1;
  StepBytes stepBytes{};
  std::span<const ChannelLinks> channels;
  Choices& choices;
  Transfers& transfers;
  Boards* boards = nullptr;  // null: there are none
  bool checked = false;      // sends tell receives what they are (XYLEM_CHECK)
};

// Throws ncclInvalidUsage for sends to oneself without a receive of the same size, or the other way round.
// Returns the bytes of all collectives if these go over the boards and there is nothing else.
std::optional<std::size_t> schedule(std::span<const CommOperation> operations, const Scheduling& scheduling,
                                    Launch& launch);

}  // namespace xylem
