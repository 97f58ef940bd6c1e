// The test's tuner plugin: one source, compiled once per version of the table (VERSION). Environment
// variables control it:
//
//   TEST_TUNER_ALGORITHM=1    the algorithm that it prefers
//   TEST_TUNER_PROTOCOL=2     and the protocol
//   TEST_TUNER_CHANNELS=3     the number of channels (no opinion)
//   TEST_TUNER_RESULT=5       the result of getCollInfo, which then leaves garbage in its table
//   TEST_TUNER_INIT=2         the result of init
//   TEST_TUNER_FEWEST=1       init fails if the domain of the fewest ranks has another number of ranks; from version 5 on
//   TEST_TUNER_MOST=3         the same for the domain of the most ranks
//
// It also declares that algorithms that cannot run take no time, which callers must not believe.

#include <atomic>
#include <cstdlib>

#include "runtime/plugins/abi.h"

namespace {

namespace abi = xylem::plugins::abi;

std::atomic<int> alive{0};

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

struct Context {
  std::size_t ranks, nodes;
};

[[maybe_unused]] abi::Result init(std::size_t ranks, std::size_t nodes, abi::LogFunction log,
                                  void** context) {
  if (const int result = setting("TEST_TUNER_INIT", 0); result != 0) return result;
  log(3, 0x40, __func__, __LINE__, "TUNER/Test : %zu ranks", ranks);
  *context = new Context{ranks, nodes};
  ++alive;
  return abi::kSuccess;
}

[[maybe_unused]] abi::Result init5(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes,
                                   abi::LogFunction log, abi::NvlinkDomains* domains,
                                   abi::TunerConstants* constants) {
  constants->baseLatencies[0][0] = 6.8;
  if (domains->domains < 1 || domains->maxRanks < 1) return abi::kInternalError;
  if (domains->minRanks != setting("TEST_TUNER_FEWEST", domains->minRanks) ||
      domains->maxRanks != setting("TEST_TUNER_MOST", domains->maxRanks))
    return abi::kInternalError;
  return init(ranks, nodes, log, context);
}

abi::Result destroy(void* context) {
  delete static_cast<Context*>(context);
  --alive;
  return abi::kSuccess;
}

abi::Result answer(int* channels) {
  *channels = setting("TEST_TUNER_CHANNELS", 0);
  return setting("TEST_TUNER_RESULT", 0);
}

[[maybe_unused]] abi::Result fill(float** given, int algorithms, int protocols, int* channels) {
  auto* table = reinterpret_cast<float*>(given);
  for (int a = 0; a < algorithms; ++a)
    for (int p = 0; p < protocols; ++p) {
      float& time = table[a * protocols + p];
      const bool wanted = a == setting("TEST_TUNER_ALGORITHM", -1) && p == setting("TEST_TUNER_PROTOCOL", -1);
      if (time < 0 || wanted || setting("TEST_TUNER_RESULT", 0) != 0) time = 0;
    }
  return answer(channels);
}

[[maybe_unused]] abi::Result table2(void*, int, std::size_t, int, int, int, int* algorithm, int* protocol,
                                    int* channels) {
  if (*algorithm != -1 || *protocol != -1) return abi::kInternalError;
  *algorithm = setting("TEST_TUNER_ALGORITHM", -1);
  *protocol = setting("TEST_TUNER_PROTOCOL", -1);
  return answer(channels);
}
[[maybe_unused]] abi::Result table3(void*, int, std::size_t, int, float** table, int algorithms,
                                    int protocols, int* channels) {
  return fill(table, algorithms, protocols, channels);
}
[[maybe_unused]] abi::Result table4(void*, int, std::size_t, int, float** table, int algorithms,
                                    int protocols, int registered, int* channels) {
  return registered == 0 ? fill(table, algorithms, protocols, channels) : abi::kInternalError;
}

}  // namespace

extern "C" {
#if VERSION == 2
__attribute__((visibility("default"))) abi::TunerV2 ncclTunerPlugin_v2 = {"Test", init, table2, destroy};
#elif VERSION == 3
__attribute__((visibility("default"))) abi::TunerV3 ncclTunerPlugin_v3 = {"Test", init, table3, destroy};
#elif VERSION == 5
__attribute__((visibility("default"))) abi::TunerV5 ncclTunerPlugin_v5 = {"Test", init5, table4, destroy};
#elif VERSION == 6
__attribute__((visibility("default")))
abi::TunerV6 ncclTunerPlugin_v6 = {{"Test", init5, table4, destroy}, nullptr};
#else
__attribute__((visibility("default"))) abi::TunerV4 ncclTunerPlugin_v4 = {"Test", init, table4, destroy};
#endif
__attribute__((visibility("default"))) int testTunersLiving() { return alive; }
}
