#pragma once
// Connections to networks that reduce (CollNet) and to the NVSwitches' own reduction (NVLS). Both go through
// the *heads* of a host: the GPUs, one per channel, through which its traffic leaves the host.
//
//   CollnetDirect direct = collnetDirectOf(connections, rank);   // direct.headRank >= 0: the rank is a head
//   NvlsLinks nvls = nvlsOf(connections, rank);                  // nvls.trees: trees of heads over nodes

#include <array>
#include <vector>

#include "planner/connect/connections.h"
#include "planner/connect/trees.h"

namespace xylem::connect {

// The heads, as GPU indices, of all channels that a host has for NVLS.
std::vector<int> nvlsHeads(const RankView& view);
// The heads of the channels that all hosts have for CollNet's direct pattern.
std::vector<int> collnetHeads(const RankView& view, const search::ByGraphKind<MergedGraph>& merged);

// The ranks that are the heads of a node, by number: as many as every node has.
std::vector<int> collnetHeadRanks(const Connections& connections, int node);
std::vector<int> nvlsHeadRanks(const Connections& connections, int node);
// The `dev` of the network device beside a head of CollNet's direct pattern, or of NVLS.
int headDevice(const Connections& connections, int head, search::GraphKind kind);

// A rank's place in the chain through its host to the NIC.
struct CollnetChain {
  int up = -1;    // the rank before; at the head the number of ranks, which stands for the network
  int down = -1;  // the rank after; -1 at the end
};
CollnetChain collnetChainOf(const Connections& connections, int rank, int channel);
// The first rank of each node's chain, by node; empty if a node has no chain on this channel.
std::vector<int> collnetChainHeads(const Connections& connections, int channel);
// The `dev` of the network device that a head uses.
int collnetChainDevice(const Connections& connections, int head, int channel);

// A rank's part in CollNet's direct pattern, in which the heads of a host gather from all its ranks; the same
// on all channels.
struct CollnetDirect {
  int headRank = -1;       // the rank's index among the heads; -1 if it is none
  int out = -1;            // at heads the number of ranks, which stands for the network
  int shift = 0;           // the head with which this rank starts
  int depth = 1;           // levels of the exchange inside the host; 0 without CollNetDirect
  std::vector<int> heads;  // all heads, starting with this rank if it is one
  std::vector<int> up;     // all heads but this rank
  std::vector<int> down;   // at heads: the other ranks of the host
};
CollnetDirect collnetDirectOf(const Connections& connections, int rank);

// A rank's links of NVLS: inside a host every rank talks to the heads, and the heads of all hosts form trees.
struct NvlsLinks {
  int headRank = -1;  // the rank's index among the heads; -1 if it is none
  // NVLS's own ends have numbers after all ranks: nRanks + 1 + head.
  int down = 0;
  int out = -1;  // at heads, if the network reduces: the number of ranks, which stands for the network
  // Trees of heads over nodes, for even and for odd channels. The first slot of `down` is the node's own NVLS
  // end.
  std::array<TreeLinks, 2> trees;
};
NvlsLinks nvlsOf(const Connections& connections, int rank);

// NCCL's lines on node 0: `NVLS Head  0:  0  8` per head.
std::vector<LogLine> nvlsHeadLines(const Connections& connections);

}  // namespace xylem::connect
