#pragma once
// How NCCL splits a transfer between two ranks (ncclSend, ncclRecv) into parts. Sender and receiver each
// compute the split from their own number of channels per peer. If they get different results, they wait for
// each other for ever.
//
//   transferSplit({.channels = 32, .perPeer = 4, .ranks = 16, .nodes = 2}, 65536)   ->   LL, 2 parts

#include <cstdint>
#include <vector>

#include "core/kinds.h"

namespace xylem::preflight {

struct TransferSplit {
  Protocol protocol = Protocol::kSimple;
  int parts = 0;
  int channels = 0;  // that parts are spread over

  bool operator==(const TransferSplit&) const = default;
};

// The values of one kind of rank that the split depends on.
struct TransferInput {
  int channels = 1;  // channels of send and receive
  int perPeer = 1;   // those of them that two ranks use
  int ranks = 1, nodes = 1;
  std::int64_t llBufferBytes = std::int64_t{512} << 10;
  std::int64_t simpleBufferBytes = std::int64_t{4} << 20;
  bool allNvlink = false;  // only matters on one node
};

TransferSplit transferSplit(const TransferInput& input, std::uint64_t bytes);

// Returns the sizes, ascending from 1 byte on, at which the split may change; it is constant between two of
// them.
std::vector<std::uint64_t> transferBounds(const TransferInput& input);

}  // namespace xylem::preflight
