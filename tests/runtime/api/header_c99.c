/* nccl.h in a C99 program: compiling it is half of the test, the numbers are the other half. */

#include "nccl.h"

#define STATIC_ASSERT(NAME, CONDITION) typedef char NAME[(CONDITION) ? 1 : -1]

/* Programs that were compiled with NCCL's own header rely on these. */
STATIC_ASSERT(idBytes, sizeof(ncclUniqueId) == 128);
STATIC_ASSERT(configBytes, sizeof(ncclConfig_t) == 96);
STATIC_ASSERT(simInfoBytes, sizeof(ncclSimInfo_t) == 24);
STATIC_ASSERT(enumBytes,
              sizeof(ncclRedOp_t) == 4 && sizeof(ncclDataType_t) == 4 && sizeof(ncclResult_t) == 4);
STATIC_ASSERT(offsets, offsetof(ncclConfig_t, blocking) == 16 && offsetof(ncclConfig_t, netName) == 32 &&
                           offsetof(ncclConfig_t, trafficClass) == 44 &&
                           offsetof(ncclConfig_t, nvlinkCentricSched) == 76 &&
                           offsetof(ncclConfig_t, graphStreamOrdering) == 92);
STATIC_ASSERT(reductions, ncclAvg == 4 && ncclNumOps == 5 && ncclMaxRedOp == 0x7fffffff);
STATIC_ASSERT(types, ncclBfloat16 == 9 && ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11 && ncclNumTypes == 12);
STATIC_ASSERT(results, ncclInProgress == 7 && ncclNumResults == 9);

int headerConfigIsUntouched(void);
int headerConfigIsUntouched(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  return config.size == sizeof config && config.magic == 0xcafebeef && config.version == NCCL_VERSION(2, 30, 5) &&
         config.blocking == NCCL_CONFIG_UNDEF_INT && config.netName == NCCL_CONFIG_UNDEF_PTR &&
         config.trafficClass == NCCL_CONFIG_UNDEF_INT && info.size == sizeof info &&
         info.magic == 0x74685283 && info.estimatedTime == NCCL_UNDEF_FLOAT;
}
