// The flight recorder: what it writes, and how readers take that, and other bytes.

#include "runtime/comm/watch/flight_recorder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/file_descriptor.h"
#include "core/settings.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/comm/watch/flight_dump.h"
#include "runtime/comm/watch/late_ranks.h"
#include "runtime/comm/watch/record_reader.h"
#include "runtime/comm/watch/shared_ticks.h"

namespace xylem::comm {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

// This process's records, read as another process would.
std::vector<std::vector<std::byte>> areas() {
  std::vector<std::vector<std::byte>> found;
  for (const auto& file : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(file.path(), gone).string().find(kRecordBufferName) == std::string::npos) continue;
    const FileDescriptor fd(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) continue;  // another thread looked, too, and has closed its own
    std::vector<std::byte> bytes(sizeof(RecordBuffer));
    EXPECT_EQ(pread(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    found.push_back(std::move(bytes));
  }
  return found;
}

std::optional<RankRecord> logOf(std::uint64_t communicator) {
  for (const auto& bytes : areas())
    for (const RankRecord& log : readRecordBuffer(bytes).communicators)
      if (log.communicator == communicator) return log;
  return std::nullopt;
}

CommOperation allReduce(std::size_t count) {
  CommOperation operation;
  operation.count = count;
  return operation;
}

constexpr ChosenAlgorithm kWay{Algorithm::kTree, Protocol::kLl128, 3, 0};

// Calls of a busy run share times, but time goes on for them.
TEST(SharedTicks, GoOnWithTime) {
  SharedTicks ticks;
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = ticks.now();
    EXPECT_GE(now, last);
    last = now;
  }
  // Much longer than a tick of the system's coarse clock.
  const std::uint64_t before = readTicks();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::uint64_t slept = readTicks() - before;
  EXPECT_GE(ticks.now(), before + slept / 2);
}

TEST(SharedTicks, StopSharing) {
  SharedTicks ticks;
  for (int i = 0; i < 1000; ++i) ticks.now();
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = readTicks();
    ticks.stop();
    EXPECT_GE(ticks.now(), before);
  }
}

TEST(FlightRecorder, KeepsCallsThatWereDoneAtOnceBetweenOthers) {
  FlightRecorder recorder({0x1235, 0, 2, 0});
  LaunchRecorder flight;
  flight.begin(recorder);
  flight.add(allReduce(10), packPath(kWay));
  flight.start();
  const CommOperation instant = allReduce(20);
  recorder.addDone({&instant, 1}, kDirectPath);
  flight.end(false);
  const auto log = logOf(0x1235);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->issued, 2u);
  ASSERT_EQ(log->entries.size(), 2u);
  const CallRecord& done = log->entries[1];
  EXPECT_EQ(done.number, 1u);
  EXPECT_EQ(done.launch, log->entries[0].launch + 1);
  EXPECT_EQ(done.ordinal, 1u);
  EXPECT_EQ(done.call.count, 20u);
  EXPECT_TRUE(done.way && done.way->direct);
  EXPECT_EQ(done.state, CallState::kDone);
  EXPECT_GE(done.issued, log->entries[0].started);
  EXPECT_EQ(done.started, done.issued);
  EXPECT_EQ(done.finished, done.issued);
  EXPECT_GE(log->entries[0].finished, done.finished);
}

TEST(FlightRecorder, KeepsWhatWasCalledAndHowFarItCame) {
  FlightRecorder recorder({0x1234, 2, 5, 7});
  LaunchRecorder done, running, waiting;
  done.begin(recorder);
  done.add(allReduce(10), packPath(kWay));
  done.start();
  done.end(false);
  running.begin(recorder);
  CommOperation send{.function = Function::kSend, .count = 3, .type = DataType::kInt8, .peer = 4};
  running.add(send, 0);
  running.add(allReduce(20), packPath(kWay));
  running.start();
  waiting.begin(recorder);
  waiting.add(allReduce(30), packPath(kWay));

  const auto log = logOf(0x1234);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->rank, 2);
  EXPECT_EQ(log->ranks, 5);
  EXPECT_EQ(log->device, 7);
  EXPECT_EQ(log->issued, 4u);
  EXPECT_FALSE(log->failed);
  ASSERT_EQ(log->entries.size(), 4u);
  const CallState states[] = {CallState::kDone, CallState::kStarted, CallState::kStarted, CallState::kIssued};
  const std::uint64_t ordinals[] = {0, 1, 1, 2}, launches[] = {0, 1, 1, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(log->entries[i].number, i);
    EXPECT_EQ(log->entries[i].state, states[i]);
    EXPECT_EQ(log->entries[i].ordinal, ordinals[i]);
    EXPECT_EQ(log->entries[i].launch, launches[i]);
  }
  EXPECT_EQ(log->entries[1].call, signatureOf(send));
  EXPECT_FALSE(log->entries[1].way);
  ASSERT_TRUE(log->entries[0].way);
  EXPECT_EQ(log->entries[0].way->algorithm, Algorithm::kTree);
  EXPECT_EQ(log->entries[0].way->protocol, Protocol::kLl128);
  EXPECT_EQ(log->entries[0].way->channels, 3);
  EXPECT_LE(log->entries[0].issued, log->entries[0].started);
  EXPECT_LE(log->entries[0].started, log->entries[0].finished);
}

TEST(FlightRecorder, TheCallThatWaitsIsKnownAlsoWhenItHasLeftTheRing) {
  FlightRecorder recorder({0x77, 0, 2, 0});
  LaunchRecorder stuck;
  stuck.begin(recorder);
  stuck.add(allReduce(999), packPath(kWay));
  stuck.start();
  for (std::uint64_t i = 1; i <= 2 * kRecordsPerRing; ++i) {
    LaunchRecorder later;
    later.begin(recorder);
    later.add(allReduce(i), packPath(kWay));
  }
  stuck.wait(1, WaitKind::kData);
  auto log = logOf(0x77);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->entries.size(), kRecordsPerRing);
  EXPECT_EQ(log->entries.back().call.count, 2 * kRecordsPerRing);
  EXPECT_EQ(log->wait, WaitKind::kData);
  EXPECT_EQ(log->waitsFor, 1);
  ASSERT_TRUE(log->waiting);
  EXPECT_EQ(log->waiting->call.count, 999u);
  EXPECT_THAT(
      dumpRecords(recorder.ring(), 2),
      AllOf(HasSubstr("rank 0 of 2: 513 calls so far"), HasSubstr("waits for rank 1"),
            HasSubstr("AllReduce of 999"), HasSubstr("#512 AllReduce of 512"), Not(HasSubstr("#510"))));
  stuck.end(false);
  EXPECT_EQ(logOf(0x77)->wait, WaitKind::kNone);
}

TEST(FlightRecorder, KeepsTheReasonOfAFailureAndForgetsItWithTheCommunicator) {
  {
    FlightRecorder recorder({0x99, 0, 2, 0});
    recorder.fail(std::string(5000, 'x'));
    const auto log = logOf(0x99);
    ASSERT_TRUE(log);
    EXPECT_TRUE(log->failed);
    EXPECT_EQ(log->reason, std::string(kReasonWords * 8 - 1, 'x'));
  }
  EXPECT_FALSE(logOf(0x99));
  const FlightRecorder next({0x9a, 0, 1, 0});
  EXPECT_TRUE(logOf(0x9a)->entries.empty());
  EXPECT_FALSE(logOf(0x9a)->failed);
}

TEST(FlightRecorder, ManyCommunicatorsTakeMoreAreas) {
  std::vector<std::unique_ptr<FlightRecorder>> recorders;
  for (std::uint64_t i = 0; i < kRingsPerBuffer + 2; ++i)
    recorders.push_back(std::make_unique<FlightRecorder>(FlightRecorder::Who{5000 + i, 0, 1, 0}));
  for (std::uint64_t i = 0; i < kRingsPerBuffer + 2; ++i) EXPECT_TRUE(logOf(5000 + i)) << i;
  EXPECT_GE(areas().size(), 2u);
}

// The memory of other processes may have any content.
TEST(FlightReader, BelievesNothing) {
  FlightRecorder recorder({0x55, 0, 2, 0});
  LaunchRecorder flight;
  for (std::uint64_t i = 0; i < 20; ++i) {
    flight.begin(recorder);
    flight.add(allReduce(i), packPath(kWay));
  }
  flight.wait(1, WaitKind::kCheck);
  const std::vector<std::byte> good = areas().front();
  EXPECT_THROW(readRecordBuffer({}), Error);
  EXPECT_THROW(readRecordBuffer(std::vector<std::byte>(4096)), Error);
  auto other = good;
  other[offsetof(RecordBuffer, version)] = std::byte{99};
  EXPECT_THROW(readRecordBuffer(other), Error);
  // A buffer that is cut off anywhere is read as far as it goes.
  for (const std::size_t length : {sizeof(RecordBuffer) / 2, std::size_t{1000}, std::size_t{200}})
    EXPECT_NO_THROW(readRecordBuffer(std::span(good).first(length)));
  // Change words anywhere, to all ones and to noise.
  std::uint64_t seed = 1;
  for (int round = 0; round < 300; ++round) {
    auto bad = good;
    for (int i = 0; i < 400; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const std::size_t at = 64 + (seed >> 33) % ((round % 2 == 0 ? 3 : 1) * sizeof(RecordRing)) / 8 * 8;
      const std::uint64_t word = i % 2 == 0 ? ~std::uint64_t{0} : seed;
      std::memcpy(bad.data() + at, &word, sizeof word);
    }
    for (const RankRecord& log : readRecordBuffer(bad).communicators) {
      EXPECT_LT(log.rank, log.ranks);
      EXPECT_LT(log.waitsFor, log.ranks);
      TextLine line;
      for (const CallRecord& entry : log.entries) describe(line, entry, TickClock({}, ClockReading::now()));
    }
  }
}

// Through nccl.h: the recorder records the calls of a real communicator.
TEST(FlightRecorder, RecordsEveryCall) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) {
    std::vector<float> data(10, 1);
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(ncclBroadcast(data.data(), data.data(), 10, ncclFloat, 1, comm, nullptr), ncclSuccess);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    const auto isRecorded = [rank] {
      for (const auto& bytes : areas())
        for (const RankRecord& log : readRecordBuffer(bytes).communicators) {
          if (log.rank != rank || log.ranks != 2 || log.entries.size() != 3) continue;
          const CallRecord& last = log.entries[2];
          return last.state == CallState::kDone && last.call.peer == 1 &&
                 last.call.function == Function::kBroadcast && last.way.has_value();
        }
      return false;
    };
    // The other rank opens and closes descriptors while this one reads their list.
    bool found = false;
    for (int attempt = 0; attempt < 500 && !found; ++attempt) {
      found = isRecorded();
      if (!found) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(found);
  }));
}

TEST(FlightRecorder, SmallCallsBehindOthersHaveNotBegun) {
  const Variables variables{};
  expectAllJoined(runRanks(2, [](int rank, ncclComm_t comm) {
    std::atomic<bool> goesOn{false};
    const auto hold = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); };
    ASSERT_EQ(cudaLaunchHostFunc(nullptr, hold, &goesOn), cudaSuccess);
    float data = 1;
    ASSERT_EQ(ncclAllReduce(&data, &data, 1, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    std::vector<CallState> states;
    // The other rank opens and closes descriptors while this one reads their list.
    for (int attempt = 0; attempt < 500 && states.empty(); ++attempt)
      for (const auto& bytes : areas())
        for (const RankRecord& log : readRecordBuffer(bytes).communicators)
          if (log.rank == rank && log.ranks == 2 && log.entries.size() == 1)
            states.push_back(log.entries[0].state);
    goesOn = true;
    goesOn.notify_all();
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    ASSERT_FALSE(states.empty());
    EXPECT_EQ(states[0], CallState::kIssued);
  }));
}

TEST(LateRanks, AreThoseThatHaveNotCalledWhatARankWaitsIn) {
  constexpr std::uint64_t kCommunicator = 0x7a11;
  FlightRecorder early({kCommunicator, 0, 3, 0}), late({kCommunicator, 1, 3, 1}),
      other({kCommunicator, 2, 3, 2});
  EXPECT_EQ(lateRanksText(kCommunicator, 0), "") << "nothing is under way";
  LaunchRecorder launch, different;
  launch.begin(early);
  launch.add(allReduce(8), packPath(kWay));
  launch.start();
  different.begin(other);
  different.add(allReduce(9), packPath(kWay));
  different.start();
  EXPECT_EQ(lateRanksText(kCommunicator, 0),
            "rank 1 has not called it; it has called nothing so far; rank 2 called AllReduce of 9 float sum "
            "instead");
  const CommOperation same = allReduce(8);
  late.addDone({&same, 1}, kDirectPath);
  different.end(true);
  launch.wait(2, WaitKind::kData);
  EXPECT_THAT(lateRanksText(kCommunicator, 0), Not(HasSubstr("rank 1")));
  launch.end(true);
}

}  // namespace
}  // namespace xylem::comm
