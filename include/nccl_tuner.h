/*
 * The tables of NCCL's tuner plugins, versions 2 to 6 (NCCL_TUNER_PLUGIN).
 *
 *   ncclTuner_v4_t ncclTunerPlugin_v4 = {"mine", init, getCollInfo, destroy};
 *
 * A plugin is a shared library with such a table as data of that name. init is called for each communicator, getCollInfo for each
 * collective of a new size. All ranks have to decide alike.
 */
#ifndef NCCL_TUNER_H_
#define NCCL_TUNER_H_

#include "nccl_common.h"

/* `algorithm` and `protocol` are -1 before the call, and stay so if the plugin has no opinion. `channels` is 0 before the call, also
 * in the versions below, and stays 0 where the library decides. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t ranks, size_t nodes, ncclDebugLogger_t log, void** context);
  ncclResult_t (*getCollInfo)(void* context, ncclFunc_t function, size_t bytes, int collNetSupport,
                              int nvlsSupport, int operations, int* algorithm, int* protocol, int* channels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v2_t;

/* `table`, in spite of its type, is the address of one float[algorithms][protocols]: microseconds, or NCCL_ALGO_PROTO_IGNORE for what
 * cannot run. The entry with the smallest time wins. `operations`: of a group, that this one stands for. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t ranks, size_t nodes, ncclDebugLogger_t log, void** context);
  ncclResult_t (*getCollInfo)(void* context, ncclFunc_t function, size_t bytes, int operations, float** table,
                              int algorithms, int protocols, int* channels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v3_t;
typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t ranks, size_t nodes, ncclDebugLogger_t log, void** context);
  ncclResult_t (*getCollInfo)(void* context, ncclFunc_t function, size_t bytes, int operations, float** table,
                              int algorithms, int protocols, int registeredBuffers, int* channels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v4_t;

/* The number of NVLink domains, and how many ranks the smallest and the largest one has. */
typedef struct {
  int nNvlDomains;
  int minRanksPerNvlDomain;
  int maxRanksPerNvlDomain;
} ncclNvlDomainInfo_v5_t;
typedef ncclNvlDomainInfo_v5_t ncclNvlDomainInfo_v6_t;

/* The constants of NCCL's model of GPUs, which init may change; Xylem's of host devices has none of them. By algorithm and protocol: µs,
 * and the latter by the kind of link (NVLink, PCI, network). maxBandwidths: GB/s of a channel by NVLink's generation and 1, 2 or 4 nodes
 * and more, of LL, LL128 of rings and of trees, trees, and NVLS trees. */
typedef struct {
  double baseLatencies[NCCL_NUM_ALGORITHMS][NCCL_NUM_PROTOCOLS];
  double hwLatencies[3][NCCL_NUM_ALGORITHMS][NCCL_NUM_PROTOCOLS];
  double maxBandwidths[5][4][3];
} ncclTunerConstants_v5_t;
typedef ncclTunerConstants_v5_t ncclTunerConstants_v6_t;

typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, size_t ranks, size_t nodes, ncclDebugLogger_t log,
                       ncclNvlDomainInfo_v5_t* domains, ncclTunerConstants_v5_t* constants);
  ncclResult_t (*getCollInfo)(void* context, ncclFunc_t function, size_t bytes, int operations, float** table,
                              int algorithms, int protocols, int registeredBuffers, int* channels);
  ncclResult_t (*finalize)(void* context);
} ncclTuner_v5_t;
/* getChunkSize may be null. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, size_t ranks, size_t nodes, ncclDebugLogger_t log,
                       ncclNvlDomainInfo_v6_t* domains, ncclTunerConstants_v6_t* constants);
  ncclResult_t (*getCollInfo)(void* context, ncclFunc_t function, size_t bytes, int operations, float** table,
                              int algorithms, int protocols, int registeredBuffers, int* channels);
  ncclResult_t (*finalize)(void* context);
  ncclResult_t (*getChunkSize)(void* context, ncclFunc_t function, size_t bytes, int algorithm, int protocol,
                               int channels, size_t* chunkBytes);
} ncclTuner_v6_t;

#endif /* NCCL_TUNER_H_ */
