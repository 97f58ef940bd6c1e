#include "core/kinds.h"

namespace xylem {

const char* name(Function function) {
  constexpr KeyedArray<Function, const char*, kFunctions> kNames = {
      "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "Send", "Recv", "AlltoAll"};
  return kNames[function];
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
