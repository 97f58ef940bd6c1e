#pragma once
// How NCCL cuts one transfer between two ranks (ncclSend, ncclRecv) into parts. Sender and receiver each work
// that out alone, from their own number of channels per peer; where they come to different answers they wait
// for each other for ever.
//
//   transferSplit({.channels = 32, .perPeer = 4, .ranks = 16, .nodes = 2}, 65536)   ->   LL, 2 parts

#include <cstdint>
#include <vector>

#include "core/kinds.h"

namespace xylem {

struct TransferSplit {
  Protocol protocol = Protocol::kSimple;
  int parts = 0;
  int channels = 0;  // over which parts are spread

  bool operator==(const TransferSplit&) const = default;
};

// What one kind of rank knows.
struct TransferInput {
  int channels = 1;  // of send and receive
  int perPeer = 1;
  int ranks = 1, nodes = 1;
  std::int64_t llBufferBytes = std::int64_t{512} << 10;
  std::int64_t simpleBufferBytes = std::int64_t{4} << 20;
  bool allNvlink = false;  // matters on one node
};

TransferSplit transferSplit(const TransferInput& input, std::uint64_t bytes);

// Sizes (ascending, from 1 byte on) from which another split may hold; between two of them it stays the same.
std::vector<std::uint64_t> transferBounds(const TransferInput& input);

}  // namespace xylem
