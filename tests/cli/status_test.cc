// xylem status of real processes that hang in one way or another, and of the corpus of flight recorders.

#include <gmock/gmock.h>
#include <sys/prctl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/run_command.h"
#include "cli/status/findings.h"
#include "fuzz/flight_area_input.h"
#include "fuzz/replay.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"

namespace xylem::testing {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The work of the processes below: an AllReduce that all ranks call alike, then the hang of the test.
void hang(const std::string& how, int rank, ncclComm_t comm) {
  std::vector<float> data(1 << 20, 1);
  ASSERT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  if (how == "absent" && rank != 1)
    ncclAllReduce(data.data(), data.data(), 1000, ncclFloat, ncclSum, comm, nullptr);
  if (how == "size")
    ncclAllReduce(data.data(), data.data(), rank == 1 ? 1 << 20 : 4, ncclFloat, ncclMax, comm, nullptr);
  if (how == "receive") ncclRecv(data.data(), 5, ncclInt32, 1 - rank, comm, nullptr);
  if (how == "unsent" && rank == 0) ncclRecv(data.data(), 5, ncclInt32, 1, comm, nullptr);
  if (how == "crossed") {
    // Each rank begins with another communicator.
    ncclComm_t other = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, 0, &other, nullptr), ncclSuccess);
    ncclAllReduce(data.data(), data.data(), 1000, ncclFloat, ncclSum, rank == 0 ? comm : other, nullptr);
  }
  cudaStreamSynchronize(nullptr);
  for (;;) std::this_thread::sleep_for(1h);  // until the test ends this process
}

TEST(RankProcess, Role) {
  const std::string role = roleOfThisProcess();
  if (role.empty()) GTEST_SKIP() << "no rank process";
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int rank = std::stoi(variable("XYLEM_TEST_RANK"));
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  while (role == "late" && rank == 1) std::this_thread::sleep_for(1h);
  const ncclResult_t joined =
      ncclCommInitRank(&comm, std::stoi(variable("XYLEM_TEST_RANKS")), idOf(variable("XYLEM_TEST_ID")), rank);
  if (role == "late") return;  // the test ends the ranks while they join
  ASSERT_EQ(joined, ncclSuccess) << ncclGetLastError(nullptr);
  hang(role, rank, comm);
}

// Ranks that hang, and the report of `xylem status` on them.
class Job {
 public:
  Job(const std::string& role, int ranks) {
    ncclUniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    for (int rank = 0; rank < ranks; ++rank)
      processes_.push_back(std::make_unique<RankProcess>(role, rank, ranks, id));
  }

  const RankProcess& operator[](std::size_t rank) const { return *processes_[rank]; }

  Outcome status(const std::vector<std::string>& options, const std::set<int>& only = {}) const {
    std::vector<std::string> words{"status"};
    for (std::size_t rank = 0; rank < processes_.size(); ++rank)
      if (only.empty() || only.contains(static_cast<int>(rank)))
        words.push_back(std::to_string(processes_[rank]->pid()));
    words.insert(words.end(), options.begin(), options.end());
    return runCommand(words);
  }
  // Asks until the answer is as wanted. Returns the last answer.
  Outcome awaitAnswer(const std::function<bool(const json&)>& isSo, const std::set<int>& only = {}) const {
    Outcome last;
    EXPECT_TRUE(await([&] {
      last = status({"--json"}, only);
      return last.status == 1 && isSo(json::parse(last.output));
    })) << last.output
        << last.errors;
    return last;
  }
  Outcome awaitFinding(const std::string& kind, const std::set<int>& only = {}) const {
    return awaitAnswer(
        [&](const json& all) {
          for (const json& job : all["communicators"])
            for (const json& finding : job["findings"])
              if (finding["kind"] == kind) return true;
          return false;
        },
        only);
  }

 private:
  // A rank that is stopped is to be seen, not to end the others.
  const Variables variables_{{"XYLEM_STOPPED_TIMEOUT", "0"}};
  std::vector<std::unique_ptr<RankProcess>> processes_;
};

TEST(Status, NamesTheRankThatHasNotCalled) {
  const Job job("absent", 3);
  // A rank that does not wait yet would be reported as late, too.
  const Outcome answer = job.awaitAnswer([](const json& all) {
    const json& ranks = all["communicators"][0]["ranks"];
    return ranks.size() == 3 && ranks[0]["state"] == "waits" && ranks[2]["state"] == "waits";
  });
  const json found = json::parse(answer.output);
  ASSERT_EQ(found["communicators"].size(), 1u);
  const json& all = found["communicators"][0];
  EXPECT_EQ(all["nranks"], 3);
  EXPECT_EQ(all["findings"].size(), 1u) << all["findings"].dump(2);
  EXPECT_EQ(all["findings"][0]["ranks"], json::array({1}));
  EXPECT_EQ(all["ranks"][0]["state"], "waits");
  EXPECT_EQ(all["ranks"][0]["current"]["count"], 1000);
  EXPECT_EQ(all["ranks"][1]["state"], "idle");
  EXPECT_EQ(all["ranks"][1]["calls"], 1);
  EXPECT_EQ(all["ranks"][2]["pid"], job[2].pid());

  const Outcome text = job.status({"--calls", "3"});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(
      text.output,
      AllOf(HasSubstr("3 ranks\n"), HasSubstr("#1 AllReduce of 1000 float sum, "), HasSubstr("running for"),
            HasSubstr("rank 1 has not called collective #1, AllReduce of 1000 float sum; its last call: #0 "
                      "AllReduce of 10 float sum")));
  // Without ids the report has all communicators of the machine.
  EXPECT_THAT(runCommand({"status"}).output, HasSubstr("rank 1 has not called collective #1"));
}

TEST(Status, SeesRanksThatJoin) {
  const Job job("late", 3);
  const Outcome answer = job.awaitAnswer(
      [](const json& all) {
        for (const json& found : all["communicators"])
          for (const json& finding : found["findings"])
            if (finding["kind"] == "not joined" &&
                finding["text"].get<std::string>().find("ranks 0, 2 join") != std::string::npos)
              return true;
        return false;
      },
      {0, 2});
  const json all = json::parse(answer.output)["communicators"][0];
  EXPECT_EQ(all["nranks"], 3);
  EXPECT_EQ(all["ranks"][0]["state"], "joins");
  EXPECT_EQ(all["ranks"][1]["joins_at"], "waiting for all ranks to check in");
  EXPECT_EQ(all["findings"][0]["ranks"], json::array({1}));
  EXPECT_THAT(all["findings"][0]["text"].get<std::string>(),
              AllOf(HasSubstr("ranks 0, 2 join, for "),
                    HasSubstr("rank 1 is not joining on this host: it has not called ncclCommInitRank yet")));
  EXPECT_THAT(job.status({}, {0}).output, HasSubstr("joining: waiting for all ranks to check in"));
}

TEST(Status, NamesCallsThatDiffer) {
  const Job job("size", 2);
  EXPECT_THAT(
      job.awaitFinding("calls differ").output,
      HasSubstr("the ranks do not call the same as collective #1: rank 0: AllReduce of 4 float max; rank 1: "
                "AllReduce of 1048576 float max"));
}

TEST(Status, SeesIntoAStoppedProcess) {
  const Job job("absent", 2);
  job.awaitFinding("not called");
  job[1].kill(SIGSTOP);
  int status = 0;
  ASSERT_TRUE(await([&] {
    return waitpid(job[1].pid(), &status, WNOHANG | WUNTRACED) == job[1].pid() && WIFSTOPPED(status);
  }));
  EXPECT_THAT(job.awaitFinding("stopped").output, HasSubstr("kill -CONT " + std::to_string(job[1].pid())));
  EXPECT_THAT(job.status({}).output, HasSubstr("rank 1 has not called collective #1"));
}

TEST(Status, NamesWhoWaitForEachOther) {
  const Job job("receive", 2);
  EXPECT_THAT(
      job.awaitFinding("cycle").output,
      HasSubstr("ranks wait for each other: rank 0 for rank 1 in Recv of 5 int32 from rank 1; rank 1 for "
                "rank 0 in Recv of 5 int32 from rank 0"));
}

TEST(Status, NamesWhoWaitForEachOtherOverTwoCommunicators) {
  const Job job("crossed", 2);
  EXPECT_THAT(job.awaitFinding("cycle").output,
              AllOf(HasSubstr("ranks wait for each other over 2 communicators: rank 0 (process " +
                              std::to_string(job[0].pid()) + ") waits in communicator 0x"),
                    HasSubstr(", in AllReduce of 1000 float sum, for rank 1 (process " +
                              std::to_string(job[1].pid()) + "), which waits in communicator 0x"),
                    HasSubstr(", in AllReduce of 1000 float sum, for rank 0 (process "),
                    HasSubstr("all ranks must make their calls on these communicators in the same order")));
}

TEST(Status, NamesASendThatIsMissingAndRanksThatAreElsewhere) {
  const Job job("unsent", 2);
  EXPECT_THAT(
      job.awaitFinding("not called").output,
      HasSubstr("rank 0 waits in its Recv of 5 int32 from rank 1, but rank 1 has no Send for it under way"));
  EXPECT_THAT(job.awaitFinding("not looked at", {0}).output,
              HasSubstr("rank 0 waits for rank 1, which was not looked"));
  const Outcome idle = job.status({}, {1});
  EXPECT_EQ(idle.status, 0) << idle.output;
  EXPECT_THAT(idle.output, AllOf(HasSubstr("2 ranks, 1 of them seen here"), HasSubstr("nothing is stuck")));
  const Outcome mixed = job.status({std::to_string(getpid())}, {1});
  EXPECT_EQ(mixed.status, 0);
  EXPECT_EQ(mixed.output.substr(0, 40), idle.output.substr(0, 40));
  EXPECT_THAT(mixed.errors, AllOf(HasSubstr("left out: process "), HasSubstr("no flight recorder")));
}

// Ranks as read from a recorder ten seconds after its start; ticks are nanoseconds.
constexpr std::uint64_t kSecond = 1'000'000'000;

comm::SeenRank rankWith(int rank, std::vector<comm::CallRecord> entries) {
  comm::SeenRank seen{.log = {},
                      .clock = comm::TickClock({0, 0}, {10 * kSecond, 10 * kSecond}),
                      .pid = 100 + rank,
                      .program = "train",
                      .host = "a"};
  seen.log.rank = rank;
  seen.log.ranks = 2;
  seen.log.entries = std::move(entries);
  return seen;
}

comm::CallRecord entryOf(std::uint64_t number, comm::CallState state, std::uint64_t count) {
  comm::CallRecord entry;
  entry.number = entry.ordinal = number;
  entry.state = state;
  entry.call.count = count;
  entry.issued = entry.started = 4 * kSecond;
  return entry;
}

comm::SeenRank waitingFor(comm::SeenRank rank, int peer, std::uint64_t since) {
  rank.log.wait = comm::WaitKind::kData;
  rank.log.waitsFor = peer;
  rank.log.waitsSince = since;
  rank.log.waiting = rank.log.entries.back();
  return rank;
}

TEST(Findings, ACallThatItsStreamHasNotComeTo) {
  const comm::SeenJob job{
      1,
      2,
      {waitingFor(rankWith(0, {entryOf(0, comm::CallState::kStarted, 5)}), 1, 5 * kSecond),
       rankWith(1, {entryOf(0, comm::CallState::kIssued, 5), entryOf(1, comm::CallState::kIssued, 5)})}};
  const auto findings = cli::findingsOf(job);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, cli::FindingKind::kNotBegun);
  EXPECT_THAT(findings[0].text,
              HasSubstr("rank 1 has called collective #0, AllReduce of 5 float sum, 6.0 s ago"));
}

TEST(Findings, ACallBehindOneThatWaitsForIt) {
  for (const comm::CallState state : {comm::CallState::kIssued, comm::CallState::kStarted}) {
    comm::SeenJob job{1,
                      2,
                      {waitingFor(rankWith(0, {entryOf(0, comm::CallState::kStarted, 5)}), 1, 5 * kSecond),
                       rankWith(1, {entryOf(0, state, 5)})}};
    for (comm::SeenRank& rank : job.seen) rank.log.entries[0].stream = 0x7f00;
    EXPECT_THAT(cli::findingsOf(job), Not(Contains(Field(&cli::Finding::text, HasSubstr("same stream")))))
        << "of two processes";
    job.seen[1].pid = job.seen[0].pid;
    if (state == comm::CallState::kStarted) {
      comm::SeenJob soon = job;
      soon.seen[0].log.waitsSince = 9 * kSecond;
      EXPECT_THAT(cli::findingsOf(soon), IsEmpty()) << "it may just be under way";
    }
    const auto findings = cli::findingsOf(job);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, cli::FindingKind::kNotBegun);
    EXPECT_THAT(
        findings[0].text,
        HasSubstr("rank 0 waits for rank 1, whose AllReduce of 5 float sum stands behind its own in the "
                  "same stream"));
  }
}

TEST(Findings, ACallThatNobodyBeginsIsNotNothing) {
  const comm::SeenJob job{1,
                          2,
                          {rankWith(0, {entryOf(0, comm::CallState::kIssued, 5)}),
                           rankWith(1, {entryOf(0, comm::CallState::kIssued, 5)})}};
  const auto findings = cli::findingsOf(job);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].kind, cli::FindingKind::kNotBegun);
  EXPECT_THAT(findings[1].text,
              HasSubstr("rank 1 has called AllReduce of 5 float sum, 6.0 s ago, but not begun"));
}

// GPUs replay graphs without a call, so records say nothing about it. A call that stands behind a replay is not what waits.
TEST(Findings, ARankThatReplaysNoGraph) {
  const std::vector behind{entryOf(0, comm::CallState::kStarted, 5)};
  const std::vector over{entryOf(0, comm::CallState::kDone, 5)};
  comm::SeenJob job{.communicator = 7, .ranks = 3};
  job.seen = {waitingFor(rankWith(0, over), 1, 6 * kSecond), waitingFor(rankWith(1, behind), 2, 7 * kSecond),
              rankWith(2, {})};
  for (const std::size_t rank : {0, 1}) {
    job.seen[rank].log.wait = comm::WaitKind::kReplay;
    job.seen[rank].log.waiting.reset();
  }
  const auto findings = cli::findingsOf(job);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, cli::FindingKind::kNotCalled);
  EXPECT_THAT(findings[0].ranks, ::testing::ElementsAre(2));
  EXPECT_EQ(findings[0].text,
            "rank 1 waits for rank 2 in a replay of a graph, for 3.0 s: has rank 2 replayed its graph, and "
            "as often?");
  // Two that wait for each other are a cycle.
  job.seen[1].log.waitsFor = 0;
  const auto cycle = cli::findingsOf(job);
  ASSERT_EQ(cycle.size(), 1u);
  EXPECT_EQ(cycle[0].kind, cli::FindingKind::kCycle);
}

TEST(Findings, ACycleOverTwoCommunicators) {
  const auto stuckIn = [](int rank, int peer) {
    return waitingFor(rankWith(rank, {entryOf(0, comm::CallState::kStarted, 5)}), peer, 5 * kSecond);
  };
  std::vector<comm::SeenJob> jobs{{0xa, 2, {stuckIn(0, 1), rankWith(1, {})}},
                                  {0xb, 2, {rankWith(0, {}), stuckIn(1, 0)}}};
  const auto across = cli::findingsAcross(jobs);
  ASSERT_EQ(across.size(), 2u);
  for (std::size_t job = 0; job < 2; ++job) {
    ASSERT_EQ(across[job].size(), 1u);
    EXPECT_EQ(across[job][0].kind, cli::FindingKind::kCycle);
    EXPECT_EQ(across[job][0].ranks, std::vector<int>{static_cast<int>(job)});
    EXPECT_EQ(
        across[job][0].text,
        "ranks wait for each other over 2 communicators: rank 0 (process 100) waits in communicator 0xa, in "
        "AllReduce of 5 float sum, for rank 1 (process 101), which waits in communicator 0xb, in AllReduce "
        "of 5 "
        "float sum, for rank 0 (process 100); all ranks must make their calls on these communicators in the "
        "same order");
  }
  // Another device of the process may well go on.
  jobs[1].seen[1].log.device = 1;
  for (const auto& findings : cli::findingsAcross(jobs)) EXPECT_TRUE(findings.empty());
}

TEST(Findings, NoCycleIfARankIsAtWorkOrStopped) {
  const auto stuckIn = [](int rank, int peer) {
    return waitingFor(rankWith(rank, {entryOf(0, comm::CallState::kStarted, 5)}), peer, 5 * kSecond);
  };
  const auto nothing = [](const std::vector<comm::SeenJob>& jobs) {
    for (const auto& findings : cli::findingsAcross(jobs)) EXPECT_TRUE(findings.empty());
  };
  // Rank 1 has begun the call in which rank 0 waits for it, or is done with it: its data is on the way.
  for (const comm::CallState state : {comm::CallState::kStarted, comm::CallState::kDone})
    nothing({{0xa, 2, {stuckIn(0, 1), rankWith(1, {entryOf(0, state, 5)})}},
             {0xb, 2, {rankWith(0, {}), stuckIn(1, 0)}}});
  // A process that is stopped goes on later: what it waited for may have come in the meantime.
  std::vector<comm::SeenJob> jobs{{0xa, 2, {stuckIn(0, 1), rankWith(1, {})}},
                                  {0xb, 2, {rankWith(0, {}), stuckIn(1, 0)}}};
  jobs[0].seen[1].stopped = jobs[1].seen[1].stopped = true;
  nothing(jobs);
}

// A cycle over three communicators in which ranks have other numbers: the middle one is a split of the job.
TEST(Findings, ACycleNamesRanksByTheirNumbersInEachCommunicator) {
  const auto as = [](pid_t process, comm::SeenRank rank) {
    rank.pid = process;
    return rank;
  };
  const auto stuckIn = [](int rank, int peer) {
    return waitingFor(rankWith(rank, {entryOf(0, comm::CallState::kStarted, 5)}), peer, 5 * kSecond);
  };
  const std::vector<comm::SeenJob> jobs{
      {0xa, 3, {as(7, stuckIn(0, 1)), as(8, rankWith(1, {})), as(9, rankWith(2, {}))}},
      {0xb, 2, {as(8, stuckIn(0, 1)), as(9, rankWith(1, {}))}},
      {0xc, 2, {as(9, stuckIn(0, 1)), as(7, rankWith(1, {}))}}};
  const auto across = cli::findingsAcross(jobs);
  for (const auto& findings : across) ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(across[1][0].text,
              AllOf(HasSubstr("over 3 communicators: rank 0 (process 7) waits in communicator 0xa, "),
                    HasSubstr("for rank 1 (process 8), which, as rank 0, waits in communicator 0xb, "),
                    HasSubstr("for rank 1 (process 9), which, as rank 0, waits in communicator 0xc, "),
                    HasSubstr("for rank 1 (process 7); all ranks")));
}

TEST(Findings, NoneWhileWaitsAreShort) {
  const auto since = 10 * kSecond - comm::SeenRank::kStuckNanoseconds / 2;
  const comm::SeenJob job{1,
                          2,
                          {waitingFor(rankWith(0, {entryOf(0, comm::CallState::kStarted, 5)}), 1, since),
                           waitingFor(rankWith(1, {entryOf(0, comm::CallState::kStarted, 5)}), 0, since)}};
  EXPECT_TRUE(cli::findingsOf(job).empty());
}

TEST(Status, SaysWhatCannotBeLookedInto) {
  const Outcome other = runCommand({"status", std::to_string(getpid())});
  EXPECT_EQ(other.status, 2);
  const Outcome none = runCommand({"status", "4194305"});  // beyond the kernel's largest
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.errors, HasSubstr("process 4194305"));
  EXPECT_EQ(runCommand({"status", "-3"}).status, 2);
}

TEST(Status, ASignalMakesAProcessTell) {
  const ScratchFile log("dump.%p", "");
  const Variables variables{{"XYLEM_DUMP_SIGNAL", std::to_string(SIGUSR2)},
                            {"NCCL_DEBUG", "WARN"},
                            {"NCCL_DEBUG_FILE", log.path()}};
  const Job job("absent", 2);
  job.awaitFinding("not called");
  job[0].kill(SIGUSR2);
  const std::string name = (log.folder() / ("dump." + std::to_string(job[0].pid()))).string();
  std::string text;
  EXPECT_TRUE(await([&] {
    text = contentsOf(name);
    return text.find("#0 AllReduce") != std::string::npos;
  })) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 of 2: 2 calls so far"), HasSubstr("waits for rank 1 for"),
                          HasSubstr("#1 AllReduce of 1000 float sum")));
  EXPECT_EQ(kill(job[0].pid(), 0), 0);  // it still runs
}

// Inputs that once broke something stay in the corpus, and are read in the normal builds.
TEST(Corpus, EveryFlightRecorderIsReadOrRefused) {
  const Replayed replayed = replayCorpus("flight_area", feedFlightArea);
  EXPECT_GE(replayed.accepted, 16);
  EXPECT_GE(replayed.refused, 5);
}

}  // namespace
}  // namespace xylem::testing
