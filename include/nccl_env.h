/*
 * The tables of plugins that answer for NCCL's variables in place of the environment, versions 1 and 2
 * (NCCL_ENV_PLUGIN).
 *
 *   ncclEnv_v2_t ncclEnvPlugin_v2 = {"mine", init, finalize, getEnv};
 *
 * A plugin is a shared library with such a table as data of that name.
 */
#ifndef NCCL_ENV_H_
#define NCCL_ENV_H_

#include "nccl_common.h"

/* init gets the version of NCCL that nccl.h names; `suffix` says whose it is. getEnv: null if the variable is not set. The text is
 * valid until the next call for the same variable, and one thread asks at a time. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix);
  ncclResult_t (*finalize)(void);
  const char* (*getEnv)(const char* name);
} ncclEnv_v1_t;
typedef struct {
  const char* name;
  ncclResult_t (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix,
                       ncclDebugLogger_t log);
  ncclResult_t (*finalize)(void);
  const char* (*getEnv)(const char* name);
} ncclEnv_v2_t;

#endif /* NCCL_ENV_H_ */
