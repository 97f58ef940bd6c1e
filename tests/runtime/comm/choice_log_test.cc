// The lines of NCCL_DEBUG_SUBSYS=TUNING on how collectives run. A process has one log, so each case is a job of
// processes of its own.

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "core/temporary_directory.h"
#include "runtime/comm/checked_rank.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const RankRole kTwice("log-choices", [](int rank, int ranks, const ncclUniqueId& id) {
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
  CheckedRank self(rank, ranks, comm);
  for (int round = 0; round < 2; ++round)
    for (const std::size_t count : {2u, 100'000u})
      self.run({Collective::kAllReduce, DataType::kFloat32, 0, count});
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  return ::testing::Test::HasFailure() ? 1 : 0;
});

// The lines of both ranks that end in how a collective runs.
std::vector<std::string> linesWith(const char* name, const char* value, const char* subsystem = "TUNING") {
  TemporaryDirectory folder;
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const Variables variables{{name, value},
                            {"NCCL_DEBUG", "INFO"},
                            {"NCCL_DEBUG_SUBSYS", subsystem},
                            {"NCCL_DEBUG_FILE", folder / "log.%p"}};
  {
    RankProcess first("log-choices", 0, 2, id);
    RankProcess second("log-choices", 1, 2, id);
    EXPECT_EQ(first.waitAtMost(60), 0);
    EXPECT_EQ(second.waitAtMost(60), 0);
  }
  std::vector<std::string> lines;
  for (const auto& file : std::filesystem::directory_iterator(folder / "")) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);)
      if (line.find(" Bytes -> ") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

TEST(ChoiceLog, SaysOnceHowEachCollectiveRuns) {
  const std::vector<std::string> lines = linesWith("NCCL_ALGO", "Ring");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(
      lines[0],
      ContainsRegex("AllReduce: 8 Bytes -> Algo RING proto LL channel\\{Lo\\.\\.Hi\\}=\\{0\\.\\.0\\}, "
                    "predicted [0-9]+\\.[0-9] us$"));
  EXPECT_THAT(lines[1],
              ContainsRegex("AllReduce: 400000 Bytes -> Algo RING proto [A-Z0-9]+ channel.*, predicted "));
}

TEST(ChoiceLog, ExchangesHaveNoAlgorithm) {
  const std::vector<std::string> lines = linesWith("XYLEM_DIRECT", "1");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("AllReduce: 8 Bytes -> one exchange through the memory of the host"));
}

TEST(ChoiceLog, IsSilentWithoutTheSubsystem) {
  EXPECT_THAT(linesWith("NCCL_ALGO", "Ring", "INIT"), IsEmpty());
}

}  // namespace
}  // namespace xylem::comm
