// A plugin that answers for NCCL's variables, for tests: one source, compiled once per version (VERSION). It answers one
// variable, leaves one unanswered, and takes the others from the environment.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/plugins/abi.h"

namespace {

namespace abi = xylem::plugins::abi;

abi::Result begin() {
  const char* result = std::getenv("TEST_ENV_INIT");
  return result == nullptr ? abi::kSuccess : std::atoi(result);
}
#if VERSION == 1
using Table = abi::EnvV1;
abi::Result init(std::uint8_t major, std::uint8_t, std::uint8_t, const char* suffix) {
  return major >= 2 && suffix != nullptr ? begin() : abi::kInternalError;
}
#else
using Table = abi::EnvV2;
abi::Result init(std::uint8_t major, std::uint8_t, std::uint8_t, const char* suffix, abi::LogFunction log) {
  log(3, 0x80, __func__, __LINE__, "test env plugin %d: ready", VERSION);
  return major >= 2 && suffix != nullptr ? begin() : abi::kInternalError;
}
#endif

// Adds a line to the file that TEST_ENV_FINALIZED names.
abi::Result finalize() {
  const char* const name = std::getenv("TEST_ENV_FINALIZED");
  std::FILE* const file = name == nullptr ? nullptr : std::fopen(name, "a");
  if (file == nullptr) return abi::kSuccess;
  std::fputs("finalized\n", file);
  std::fclose(file);
  return abi::kSuccess;
}

const char* getEnv(const char* name) {
  if (std::strcmp(name, "NCCL_MIN_NCHANNELS") == 0) return "3";
  if (std::strcmp(name, "NCCL_MAX_NCHANNELS") == 0) return nullptr;
  return std::getenv(name);
}

}  // namespace

#define XYLEM_JOIN(a, b) a##b
#define XYLEM_SYMBOL(version) XYLEM_JOIN(ncclEnvPlugin_v, version)

extern "C" {
__attribute__((visibility("default"))) Table XYLEM_SYMBOL(VERSION) = {"TestEnv", init, finalize, getEnv};
}
