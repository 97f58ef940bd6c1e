// How measurements are made and summed up, with fake contenders.

#include "comparison/comparison.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <thread>

#include "comparison/compare_options.h"
#include "comparison/mailbox_limit.h"
#include "comparison/mapped_limit.h"
#include "comparison/process_contender.h"
#include "comparison/rank_loop.h"
#include "comparison/report.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ComparisonStatistics, TheMajorityOfProbesMakesTheWindow) {
  const Window window = majorityWindow({250, 70, 72, 31, 75, 260, 80, 30});
  EXPECT_DOUBLE_EQ(window.low, 70);
  EXPECT_DOUBLE_EQ(window.high, 80);
}

TEST(ComparisonStatistics, OnlySamplesInTheUsualStateCount) {
  const Window window{70, 80};
  const Estimate e = estimate({{1, 70, 75}, {9, 70, 250}, {3, 75, 75}, {8, 30, 80}, {2, 80, 70}}, window);
  EXPECT_DOUBLE_EQ(e.seconds, 2);
  EXPECT_EQ(e.used, 3u);
  EXPECT_EQ(e.total, 5u);
}

TEST(ComparisonStatistics, AllSamplesCountIfNoneIsInTheUsualState) {
  const Estimate e = estimate({{1, 30, 30}, {4, 30, 70}}, {70, 80});
  EXPECT_DOUBLE_EQ(e.seconds, 2.5);
  EXPECT_EQ(e.used, 0u);
}

TEST(ComparisonStatistics, MeansAreGeometric) {
  EXPECT_DOUBLE_EQ(geometricMean({0.5, 2, 8}).value(), 2);
  EXPECT_EQ(geometricMean({}), std::nullopt);
}

TEST(ComparisonOptions, SizesAreAListOrARange) {
  EXPECT_THAT(parseSizes("8,4K,1M", 4), ElementsAre(8, 4096, 1 << 20));
  EXPECT_THAT(parseSizes("8:200", 4), ElementsAre(8, 32, 128, 200));
  EXPECT_THAT(parseSizes("64:64", 4), ElementsAre(64));
  EXPECT_THROW(parseSizes("8,much", 4), InputError);
  EXPECT_THROW(parseSizes("0:8", 4), InputError);
}

// Takes a given time; fails from a given measurement on.
class Pretender : public Contender {
 public:
  Pretender(std::string name, Role role, double seconds, int failsAt = -1)
      : Contender(std::move(name), role), seconds_(seconds), failsAt_(failsAt) {}
  void prepare(std::uint64_t) override {}
  double measure(const Case&, unsigned, unsigned) override {
    if (failsAt_ >= 0 && ++measured_ > failsAt_) throw Error(ResultCode::kRemoteError, "it broke");
    return seconds_;
  }
  std::optional<double> measureApart(const Case&, unsigned) override {
    if (role() == Role::kLimit) return std::nullopt;
    return role() == Role::kOurs ? 1.5 * seconds_ : 2 * seconds_;
  }
  std::optional<std::uint64_t> check(const Case&) override { return 0; }
  int buffers() const override { return 2; }

 private:
  const double seconds_;
  const int failsAt_;
  int measured_ = 0;
};

constexpr Case kCase{Operation::kAllReduce, 2, 1024};

TEST(Comparison, ComparesWithTheBestPeerAndTheLeastLimit) {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::make_unique<Pretender>("ours", Role::kOurs, 2e-3));
  contenders.push_back(std::make_unique<Pretender>("slow", Role::kPeer, 5e-3));
  contenders.push_back(std::make_unique<Pretender>("fast", Role::kPeer, 3e-3));
  contenders.push_back(std::make_unique<Pretender>("limit", Role::kLimit, 1e-3));
  Comparison comparison(std::move(contenders), nullptr, {3, 0.01, {}});
  EXPECT_EQ(comparison.buffers(), 8);
  const CaseResult result = comparison.measure(kCase);
  EXPECT_EQ(result.of("ours")->iterations, 5u);
  EXPECT_EQ(result.of("ours")->time.used, 3u);
  EXPECT_DOUBLE_EQ(ratio(result.best(Role::kPeer), result.of("ours")).value(), 1.5);
  EXPECT_DOUBLE_EQ(ratio(result.best(Role::kLimit), result.of("ours")).value(), 0.5);
  EXPECT_EQ(ratio(result.best(Role::kPeer), result.of("nobody")), std::nullopt);
  EXPECT_DOUBLE_EQ(ratioApart(result.bestApart(Role::kPeer), result.of("ours")).value(), 2);
  EXPECT_EQ(ratioApart(result.bestApart(Role::kLimit), result.of("ours")), std::nullopt);
  const std::string table =
      tableText({}, {}, {{"ours", Role::kOurs, ""}, {"fast", Role::kPeer, ""}}, {result});
  EXPECT_THAT(table, AllOf(HasSubstr("2000|3000"), HasSubstr("3000|6000"), HasSubstr("1.50|2.00")));
}

TEST(Comparison, LeavesOutWhoFailsAndSaysSo) {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::make_unique<Pretender>("sound", Role::kOurs, 1e-3));
  contenders.push_back(std::make_unique<Pretender>("broken", Role::kPeer, 1e-3, 4));
  Comparison comparison(std::move(contenders), nullptr, {7, 0.001, {}});
  const CaseResult result = comparison.measure(kCase);
  EXPECT_THAT(result.measured, SizeIs(1));
  EXPECT_EQ(result.of("sound")->time.total, 7u);
  ASSERT_THAT(comparison.remarks(), SizeIs(1));
  EXPECT_THAT(comparison.remarks().front(),
              AllOf(HasSubstr("broken"), HasSubstr("all_reduce"), HasSubstr("it broke")));
  EXPECT_THAT(comparison.measure(kCase).measured, SizeIs(1));
}

// Between hosts, a contender that does not use the network is left out.
TEST(Comparison, LeavesOutWhoGoesAroundTheNetwork) {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::make_unique<Pretender>("around", Role::kPeer, 1e-3));
  Comparison comparison(std::move(contenders), nullptr, {1, 0.001, [] { return std::uint64_t{500}; }});
  EXPECT_THAT(comparison.measure(kCase).measured, SizeIs(0));
  EXPECT_THAT(comparison.remarks().front(), HasSubstr("only 0 bytes went over the network"));
}

TEST(ProcessContender, SaysWhatAProcessThatEndsTooSoonSaid) {
  ProcessContender::Options options;
  options.ranks = 2;
  options.folder = ::testing::TempDir();
  const auto launch = [](const std::string&) {
    return std::vector<CommandLine>{{{"sh", "-c", "echo no such library; exit 1"}, {}}};
  };
  try {
    const ProcessContender contender("unable", Role::kPeer, options, launch);
    FAIL() << "it came up";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("0 of 2 ranks"), HasSubstr("no such library")));
  }
}

TEST(ComparisonLimits, ComputeWhatTheOperationsDo) {
  const std::vector<int> cores = usableCores();
  if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
  CorePair pair(cores[0], cores[1]);
  for (const Operation operation : kAllOperations)
    for (const int ranks : {2, 4}) {
      const Case c{operation, ranks, wholeBytes(operation, ranks, 5000)};
      MappedLimit plain(pair, ranks, Stores::kPlain), streaming(pair, ranks, Stores::kStreaming);
      MailboxLimit mailbox(pair);
      for (Contender* limit : std::initializer_list<Contender*>{&plain, &streaming, &mailbox}) {
        if (!limit->supports(c)) continue;
        limit->prepare(c.bytes);
        EXPECT_EQ(limit->check(c), 0u) << limit->name() << ", " << name(operation) << ", " << ranks;
        EXPECT_GT(limit->measure(c, 20, 2), 0) << limit->name();
        EXPECT_EQ(limit->check(c), 0u) << limit->name() << " after " << name(operation);
      }
    }
  EXPECT_GT(LineProbe(pair).measure(), 0);
}

// One rank of two. Its operations only note how often each call of repeat() asks for them, and what the input is.
class NotingEngine : public Engine {
 public:
  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  void join(const std::array<char, kIdBytes>&) override {}
  void barrier() override {}
  void repeat(const Case&, const float* in, float*, std::uint32_t times, bool) override {
    asked.push_back(times);
    input.assign(in, in + 4);
  }
  std::vector<std::uint32_t> asked;
  std::vector<float> input;
};

TEST(RankLoop, WritesItsInputBeforeEachOperationIfAsked) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const ControlSocket driver{FileDescriptor(ends[0])};
  const ControlSocket mine{FileDescriptor(ends[1])};
  NotingEngine engine;
  std::thread rank([&] { serve(engine, mine); });
  Reply reply;
  const auto hears = [&] { return driver.receive(reply, Deadline::after(std::chrono::seconds(30))); };
  EXPECT_TRUE(hears());
  Command command;
  command.operation = Operation::kAllReduce;
  command.bytes = 16;
  for (const Command::Kind kind : {Command::kPrepare, Command::kRun, Command::kRunApart}) {
    command.kind = kind;
    for (command.rewrites = 0; command.rewrites < 2; ++command.rewrites) {
      command.iterations = 3;
      command.warmUps = 2;
      driver.send(command);
      EXPECT_TRUE(hears());
    }
  }
  command.kind = Command::kQuit;
  driver.send(command);
  rank.join();
  EXPECT_THAT(engine.asked, ElementsAre(2, 3,                // at once
                                        1, 1, 1, 1, 1,       // each after the input was written
                                        1, 1, 1, 1, 1, 1));  // apart
  EXPECT_THAT(engine.input,
              ElementsAre(inputValue(0, 0), inputValue(0, 1), inputValue(0, 2), inputValue(0, 3)));
}

}  // namespace
}  // namespace xylem::bench
