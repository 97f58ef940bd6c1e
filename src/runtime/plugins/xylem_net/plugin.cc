// What NCCL looks for in libnccl-net-xylem.so.

#include "runtime/plugins/xylem_net/net_table.h"

using namespace xylem;

extern "C" {
__attribute__((visibility("default"))) constinit abi::Net<8> ncclNetPlugin_v8 = offer::offeredTable<8>();
__attribute__((visibility("default"))) constinit abi::Net<9> ncclNetPlugin_v9 = offer::offeredTable<9>();
__attribute__((visibility("default"))) constinit abi::Net<10> ncclNetPlugin_v10 = offer::offeredTable<10>();
}
