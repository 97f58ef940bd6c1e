// Plugins that answer for NCCL's variables. A process has one for its life, so each case is a process of its own.

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "core/temporary_directory.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string valueOf(const char* name) {
  const char* value = nullptr;
  int length = 0;
  EXPECT_EQ(ncclParamGetParameter(name, &value, &length), ncclSuccess);
  return value == nullptr ? "" : value;
}

// The plugin's answers count, also against the environment.
const RankRole kAnswered("answered", [](int rank, int ranks, const ncclUniqueId& id) {
  EXPECT_EQ(valueOf("NCCL_MIN_NCHANNELS"), "3");
  EXPECT_NE(valueOf("NCCL_MAX_NCHANNELS"), "7");
  EXPECT_EQ(valueOf("NCCL_BUFFSIZE"), "1048576");
  EXPECT_EQ(valueOf("XYLEM_HOST_DEVICES"), "16");
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  return ::testing::Test::HasFailure() ? 1 : 0;
});

const RankRole kRefused("refused", [](int rank, int ranks, const ncclUniqueId& id) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSystemError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("env plugin TestEnv: init failed: system error (2)"));
  return ::testing::Test::HasFailure() ? 1 : 0;
});

std::string runWith(const char* role, const std::string& plugin, const char* init = nullptr) {
  TemporaryDirectory folder;
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const Variables variables{{"NCCL_ENV_PLUGIN", plugin},  {"NCCL_MAX_NCHANNELS", "7"},
                            {"NCCL_BUFFSIZE", "1048576"}, {"NCCL_DEBUG", "INFO"},
                            {"NCCL_DEBUG_SUBSYS", "ALL"}, {"NCCL_DEBUG_FILE", folder / "log"}};
  if (init != nullptr) setenv("TEST_ENV_INIT", init, 1);
  RankProcess process(role, 0, 1, id);
  unsetenv("TEST_ENV_INIT");
  EXPECT_EQ(process.waitAtMost(60), 0);
  std::ostringstream text;
  text << std::ifstream(folder / "log").rdbuf();
  return text.str();
}

std::string testEnvFile(int version) {
  return std::string(XYLEM_TEST_PLUGINS) + "/libnccl-env-test" + std::to_string(version) + ".so";
}

class EnvPlugin : public ::testing::TestWithParam<int> {};

TEST_P(EnvPlugin, AnswersForTheEnvironment) {
  EXPECT_THAT(runWith("answered", testEnvFile(GetParam())),
              HasSubstr("ENV/Plugin: Loaded env plugin TestEnv (v" + std::to_string(GetParam()) + ")"));
}

TEST_P(EnvPlugin, WhoseInitFailsFailsTheFirstCommunicator) {
  runWith("refused", testEnvFile(GetParam()), "2");
}

INSTANTIATE_TEST_SUITE_P(Versions, EnvPlugin, ::testing::Values(1, 2));

}  // namespace
}  // namespace xylem::comm
