#include "core/kinds.h"

namespace xylem {

const char* name(Collective collective) {
  constexpr ByCollective<const char*> kNames = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                                "AllReduce"};
  return kNames[collective];
}

const char* name(Algorithm algorithm) {
  constexpr ByAlgorithm<const char*> kNames = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                               "NVLSTree", "PAT"};
  return kNames[algorithm];
}

const char* name(Protocol protocol) {
  constexpr ByProtocol<const char*> kNames = {"LL", "LL128", "Simple"};
  return kNames[protocol];
}

const char* upperName(Algorithm algorithm) {
  constexpr ByAlgorithm<const char*> kNames = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                               "NVLS_TREE", "PAT"};
  return kNames[algorithm];
}

const char* upperName(Protocol protocol) {
  constexpr ByProtocol<const char*> kNames = {"LL", "LL128", "SIMPLE"};
  return kNames[protocol];
}

}  // namespace xylem
