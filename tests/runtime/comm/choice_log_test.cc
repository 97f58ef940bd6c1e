// The lines of NCCL_DEBUG_SUBSYS=TUNING on how collectives run. A process has one log, so each case is a job of
// processes of its own.

#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <memory>
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

// The lines of both ranks that contain a text.
std::vector<std::string> linesOf([[maybe_unused]] const Variables& variables, const char* text,
                                 std::array<const char*, 2> hosts) {
  TemporaryDirectory folder;
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const Variables log{{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_FILE", folder / "log.%p"}};
  std::vector<std::unique_ptr<RankProcess>> processes;
  for (int rank = 0; rank < 2; ++rank) {
    const Variables host{{"NCCL_HOSTID", hosts[static_cast<std::size_t>(rank)]}};
    processes.push_back(std::make_unique<RankProcess>("log-choices", rank, 2, id));
  }
  for (const auto& process : processes) EXPECT_EQ(process->waitAtMost(60), 0);
  std::vector<std::string> lines;
  for (const auto& file : std::filesystem::directory_iterator(folder / "")) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);)
      if (line.find(text) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

// The lines that end in how a collective runs.
std::vector<std::string> linesWith(const char* name, const char* value, const char* subsystem = "TUNING") {
  return linesOf({{name, value}, {"NCCL_DEBUG_SUBSYS", subsystem}}, " Bytes -> ", {"one", "one"});
}

std::vector<std::string> linesInSpiteOf(const char* algorithm, const char* fault) {
  return linesOf({{"NCCL_ALGO", algorithm},
                  {"NCCL_DEBUG_SUBSYS", "TUNING"},
                  {"NCCL_COLLNET_ENABLE", "1"},
                  {"NCCL_NET_PLUGIN", std::string(XYLEM_TEST_PLUGINS) + "/libnccl-net-test10.so"},
                  {fault, "2"}},
                 "in spite of NCCL_ALGO", {"one", "two"});
}

TEST(ChoiceLog, SaysThatCollNetIsOffAndWhy) {
  for (const std::string& line : linesInSpiteOf("CollnetChain", "TEST_COLL_CONNECT"))
    EXPECT_THAT(line,
                ContainsRegex("AllReduce of [0-9]+ bytes: CollNet is off: rank 0: collnet plugin Test10: "
                              "connect failed: system error .*; it goes through Ring"));
  EXPECT_EQ(linesInSpiteOf("CollnetChain", "TEST_COLL_CONNECT").size(), 4u);
}

TEST(ChoiceLog, NamesTheAlgorithmThatWasAskedFor) {
  const std::vector<std::string> lines = linesInSpiteOf("CollnetChain", "TEST_COLL_INIT");
  ASSERT_EQ(lines.size(), 4u);
  for (const std::string& line : lines)
    EXPECT_THAT(line, HasSubstr("CollNetChain needs CollNet between nodes; it goes through Ring"));
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
