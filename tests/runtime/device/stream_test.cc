#include "runtime/device/stream.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/device/host_device.h"
#include "runtime/device/scheduler.h"

namespace xylem::device {
namespace {

using ::testing::ElementsAre;

// A task made of a function, counting what happens to it.
class TestTask final : public Task {
 public:
  explicit TestTask(std::function<Progress()> work) : work_(std::move(work)) {}
  Progress step() override { return work_(); }
  void checkStall() override {
    ++stalls;
    if (giveUp) throw Error(ResultCode::kRemoteError, "gave up");
  }
  bool isBrief() const override { return brief; }
  void finish(const Error* error) noexcept override {
    failed = error != nullptr;
    finished.store(true, std::memory_order_release);
  }

  std::atomic<bool> finished{false};
  bool failed = false;
  bool giveUp = false;
  bool brief = false;
  std::atomic<int> stalls{0};

 private:
  std::function<Progress()> work_;
};

TEST(Stream, RunsTasksInOrderAndOnlyOnce) {
  Stream stream(0);
  std::vector<int> order;
  TestTask first([&] { return order.push_back(1), Progress::kDone; });
  TestTask second([&] { return order.push_back(2), Progress::kDone; });
  TestTask third([&] { return order.push_back(3), Progress::kDone; });
  stream.enqueue(first);
  stream.enqueue(second);
  EXPECT_TRUE(stream.pending());
  ASSERT_TRUE(stream.tryClaim());
  EXPECT_FALSE(stream.tryClaim()) << "one thread at a time";
  EXPECT_EQ(stream.run(), Progress::kDone);
  stream.enqueue(third);
  EXPECT_EQ(stream.run(), Progress::kDone);
  stream.release();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_FALSE(stream.pending());
  EXPECT_TRUE(first.finished && second.finished && third.finished);
}

TEST(Stream, ATaskThatWouldBlockHoldsUpThoseBehindItAndIsTriedAgain) {
  Stream stream(0);
  bool open = false;
  bool behind = false;
  TestTask gate([&] { return open ? Progress::kDone : Progress::kWouldBlock; });
  TestTask after([&] { return behind = true, Progress::kDone; });
  stream.enqueue(gate);
  stream.enqueue(after);
  ASSERT_TRUE(stream.tryClaim());
  EXPECT_EQ(stream.run(), Progress::kWouldBlock);
  EXPECT_FALSE(behind);
  open = true;
  EXPECT_EQ(stream.run(), Progress::kDone);
  EXPECT_TRUE(behind);
  stream.release();
}

TEST(Stream, AFailingTaskEndsAloneAndItsErrorIsKept) {
  Stream stream(0);
  TestTask bad([]() -> Progress { throw Error(ResultCode::kRemoteError, "rank 3 is gone"); });
  TestTask worse([]() -> Progress { throw std::runtime_error("oops"); });
  TestTask good([] { return Progress::kDone; });
  for (TestTask* task : {&bad, &worse, &good}) stream.enqueue(*task);
  ASSERT_TRUE(stream.tryClaim());
  EXPECT_EQ(stream.run(), Progress::kDone);
  stream.release();
  EXPECT_TRUE(bad.failed && worse.failed);
  EXPECT_FALSE(good.failed);
  const auto error = stream.takeError();
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "rank 3 is gone");
  EXPECT_FALSE(stream.takeError());
}

// Times that lie ahead: no thread is later, however busy the machine is.
std::chrono::steady_clock::time_point ahead() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}

TEST(Stream, WakesNoWorkerForLongTasksIfTheProgramComesAtOnce) {
  Stream stream(0);
  EXPECT_TRUE(stream.noteLong(ahead()));
  stream.noteAwaited();
  EXPECT_FALSE(stream.noteLong(ahead()));
  stream.noteAwaited();
  EXPECT_FALSE(stream.noteLong(ahead()));
  stream.noteLeft();
  EXPECT_TRUE(stream.noteLong(ahead()));
  // It came late.
  stream.noteAwaited();
  stream.noteLong(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  stream.noteAwaited();
  EXPECT_TRUE(stream.noteLong(ahead()));
}

TEST(Stream, WakesAWorkerForLongTasksThatAreLeftAfterAll) {
  Stream stream(0);
  const auto now = ahead();
  stream.noteLong(now);
  stream.noteAwaited();
  // The program enqueues more and does not come.
  EXPECT_FALSE(stream.noteLong(now));
  EXPECT_FALSE(stream.noteLong(now + std::chrono::microseconds(10)));
  EXPECT_TRUE(stream.noteLong(now + std::chrono::milliseconds(1)));
  // It asks once, and leaves the rest to the worker.
  stream.noteAwaited();
  stream.noteLeft();
  EXPECT_TRUE(stream.noteLong(now));
}

TEST(Scheduler, WhoeverWaitsRunsTheTasks) {
  OwnedStream stream(0);
  std::thread::id ranOn;
  stream.get().attend();  // keeps the worker away
  TestTask task([&] { return ranOn = std::this_thread::get_id(), Progress::kDone; });
  Scheduler::instance().enqueue(stream.get(), task);
  Scheduler::instance().wait(stream.get());
  stream.get().leave();
  EXPECT_EQ(ranOn, std::this_thread::get_id());
}

TEST(Scheduler, AThreadThatPollsRunsTheStream) {
  OwnedStream stream(0);
  stream.get().attend();  // keeps the worker away
  std::thread::id ranOn;
  bool open = false;
  TestTask gate([&] { return open ? Progress::kDone : Progress::kWouldBlock; });
  TestTask behind([&] { return ranOn = std::this_thread::get_id(), Progress::kDone; });
  for (TestTask* task : {&gate, &behind}) Scheduler::instance().enqueue(stream.get(), *task);
  for (int i = 0; i < 100; ++i) Scheduler::instance().poll(&stream.get());
  EXPECT_TRUE(stream.get().pending()) << "a poll returns if nothing can go on";
  open = true;
  Scheduler::instance().poll(&stream.get());
  EXPECT_FALSE(stream.get().pending());
  EXPECT_EQ(ranOn, std::this_thread::get_id());
  stream.get().leave();
}

TEST(Scheduler, AThreadThatPollsOneStreamRunsTheOneForWhichThatWaits) {
  std::atomic<bool> done = false;
  TestTask last([&] { return done ? Progress::kDone : Progress::kWouldBlock; });
  TestTask before([&] { return done = true, Progress::kDone; });
  OwnedStream first(0), second(1);
  Scheduler::instance().enqueue(first.get(), last);
  Scheduler::instance().enqueue(second.get(), before);
  while (first.get().pending()) Scheduler::instance().poll(&first.get());
  EXPECT_TRUE(done);
}

TEST(Scheduler, AThreadThatPollsFindsATaskThatWaitsInVain) {
  OwnedStream stream(0);
  stream.get().attend();
  TestTask lost([] { return Progress::kWouldBlock; });
  lost.giveUp = true;
  Scheduler::instance().enqueue(stream.get(), lost);
  while (stream.get().pending()) Scheduler::instance().poll(&stream.get());
  EXPECT_TRUE(lost.failed);
  EXPECT_TRUE(stream.get().takeError());
  stream.get().leave();
}

TEST(Scheduler, ATaskThatPollsRunsNoOther) {
  bool otherRan = false, ranInside = false;
  // The streams are destroyed first: that of `other` waits for its task.
  TestTask other([&] { return otherRan = true, Progress::kDone; });
  OwnedStream first(0), second(0);
  second.get().attend();  // keeps the worker away
  TestTask asks([&] {
    Scheduler::instance().poll(&second.get());
    return ranInside = otherRan, Progress::kDone;
  });
  Scheduler::instance().enqueue(second.get(), other);
  Scheduler::instance().enqueue(first.get(), asks);
  Scheduler::instance().wait(first.get());
  EXPECT_FALSE(ranInside);
  second.get().leave();
}

TEST(Scheduler, AThreadCatchesUpWithBriefTasksOnly) {
  Stream stream(0);
  bool open = false;
  int turns = 0;
  TestTask first([] { return Progress::kDone; });
  TestTask second([&] { return ++turns < 3 ? Progress::kAdvanced : Progress::kDone; });
  TestTask gate([&] { return open ? Progress::kDone : Progress::kWouldBlock; });
  TestTask lasting([] { return Progress::kDone; });
  for (TestTask* task : {&first, &second, &gate}) task->brief = true;
  for (TestTask* task : {&first, &second, &gate, &lasting}) stream.enqueue(*task);
  Scheduler& scheduler = Scheduler::instance();
  EXPECT_FALSE(scheduler.catchUp(stream));
  EXPECT_EQ(stream.finished(), 2u) << "the third waits for another rank";
  open = true;
  EXPECT_FALSE(scheduler.catchUp(stream));
  EXPECT_EQ(stream.finished(), 3u) << "the last takes long";
  ASSERT_TRUE(stream.tryClaim());
  EXPECT_EQ(stream.run(), Progress::kDone);
  EXPECT_FALSE(scheduler.catchUp(stream)) << "another thread runs it";
  stream.release();
  EXPECT_TRUE(scheduler.catchUp(stream));
}

TEST(Scheduler, ATaskCatchesUpWithNoOther) {
  OwnedStream first(0);
  Stream second(0);
  TestTask other([] { return Progress::kDone; });
  other.brief = true;
  second.enqueue(other);
  TestTask catches([&] { return Scheduler::instance().catchUp(second), Progress::kDone; });
  Scheduler::instance().enqueue(first.get(), catches);
  Scheduler::instance().wait(first.get());
  EXPECT_FALSE(other.finished);
}

// A device without a worker, as nothing is enqueued there by the scheduler.
constexpr int kIdleDevice = 5;

TEST(Scheduler, TheWorkerLeavesAStreamToAThreadThatCatchesUpInALoop) {
  OwnedStream stream(kIdleDevice);
  int steps = 0;
  bool over = false;
  TestTask task([&] {
    if (over) return Progress::kDone;
    return ++steps % 2 != 0 ? Progress::kAdvanced : Progress::kWouldBlock;
  });
  task.brief = true;
  stream.get().enqueue(task);
  // On a busy machine it may take a while until it comes often enough.
  while (!stream.get().takePolled()) Scheduler::instance().catchUp(stream.get());
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stream.get().takePolled();
    Scheduler::instance().catchUp(stream.get());
  }
  EXPECT_FALSE(stream.get().takePolled()) << "now it comes seldom";
  over = true;
  Scheduler::instance().wait(stream.get());
}

TEST(Scheduler, AThreadThatUsesTwoStreamsCatchesUpWithBoth) {
  Scheduler& scheduler = Scheduler::instance();
  TestTask away([] { return Progress::kDone; });
  const auto use = [&](Stream& stream) {
    scheduler.enqueue(stream, away);
    scheduler.wait(stream);
  };
  OwnedStream one(0), two(0);
  for (int i = 0; i < 20; ++i) use(one.get());

  std::atomic<bool> reached = false;
  TestTask waits([&] { return reached ? Progress::kDone : Progress::kWouldBlock; });
  TestTask reaches([&] { return reached = true, Progress::kDone; });
  TestTask lasting([] { return Progress::kDone; });
  for (TestTask* task : {&waits, &reaches}) task->brief = true;
  OwnedStream first(kIdleDevice), second(kIdleDevice);
  first.get().enqueue(waits);
  second.get().enqueue(reaches);
  second.get().enqueue(lasting);
  EXPECT_FALSE(scheduler.catchUp(first.get()));
  EXPECT_FALSE(reached) << "the thread has used one stream only";
  use(two.get());
  // A worker of another device may have the lists of streams just now.
  while (!reached) static_cast<void>(scheduler.catchUp(first.get()));
  EXPECT_TRUE(scheduler.catchUp(first.get()) || !first.get().pending());
  EXPECT_FALSE(second.get().takePolled());
  TestTask later([] { return Progress::kWouldBlock; });
  later.brief = true;
  Stream third(kIdleDevice);
  third.enqueue(later);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(scheduler.catchUp(third));
  EXPECT_FALSE(second.get().takePolled()) << "this thread does not come for what takes long";
  scheduler.wait(second.get());
}

TEST(Scheduler, WhoeverCaughtUpDoesNotKeepTheWorkerFromALastingTask) {
  OwnedStream stream(0);
  TestTask brief([] { return Progress::kDone; }), lasting([] { return Progress::kDone; });
  brief.brief = true;
  stream.get().attend();  // keeps the worker away
  stream.get().notePolling();
  Scheduler::instance().enqueue(stream.get(), brief);
  EXPECT_TRUE(stream.get().takePolled());
  Scheduler::instance().wait(stream.get());
  stream.get().notePolling();
  Scheduler::instance().enqueue(stream.get(), lasting);
  EXPECT_FALSE(stream.get().takePolled());
  Scheduler::instance().wait(stream.get());
  stream.get().leave();
}

TEST(Scheduler, OtherStreamsDoNotHoldUpAThreadThatIsFarAhead) {
  OwnedStream stream(kIdleDevice), other(kIdleDevice);
  std::atomic<bool> open = false;
  TestTask endless([&] { return open ? Progress::kDone : Progress::kAdvanced; });
  other.get().enqueue(endless);
  std::deque<TestTask> tasks;
  for (std::uint64_t i = 0; i <= Scheduler::kMostAhead; ++i)
    stream.get().enqueue(tasks.emplace_back([&] { return open ? Progress::kDone : Progress::kWouldBlock; }));
  Scheduler::limit(stream.get());
  EXPECT_EQ(stream.get().finished(), 0u);
  open = true;
  Scheduler::instance().wait(stream.get());
  Scheduler::instance().wait(other.get());
}

TEST(Scheduler, AThreadIsNotFarAheadOfItsStream) {
  OwnedStream stream(0);
  stream.get().attend();  // keeps the worker away
  std::deque<TestTask> tasks;
  const auto enqueue = [&](const std::function<Progress()>& work) {
    Scheduler::instance().enqueue(stream.get(), tasks.emplace_back(work));
    Scheduler::limit(stream.get());
    return stream.get().enqueued() - stream.get().finished();
  };
  constexpr std::uint64_t kMost = Scheduler::kMostAhead;
  for (std::uint64_t i = 0; i < kMost; ++i) ASSERT_EQ(enqueue([] { return Progress::kDone; }), i + 1);
  EXPECT_LE(enqueue([] { return Progress::kDone; }), kMost / 2 + 1);
  Scheduler::instance().wait(stream.get());

  bool open = false;
  const auto gate = [&] { return open ? Progress::kDone : Progress::kWouldBlock; };
  for (std::uint64_t i = 0; i < kMost + 3; ++i) enqueue(gate);
  EXPECT_EQ(stream.get().enqueued() - stream.get().finished(), kMost + 3)
      << "it may be this thread that others wait for";
  open = true;
  Scheduler::instance().wait(stream.get());
  stream.get().leave();
}

TEST(Scheduler, TheWorkerLeavesAPolledStreamAloneForOneLook) {
  Stream stream(0);
  EXPECT_FALSE(stream.takePolled());
  stream.notePolling();
  EXPECT_TRUE(stream.takePolled());
  EXPECT_FALSE(stream.takePolled()) << "the worker takes over from a thread that has stopped polling";
}

TEST(Scheduler, AWorkerRunsWhatNobodyWaitsFor) {
  OwnedStream stream(0);
  for (int round = 0; round < 3; ++round) {
    TestTask task([] { return Progress::kDone; });
    Scheduler::instance().enqueue(stream.get(), task);
    while (!task.finished.load(std::memory_order_acquire)) std::this_thread::yield();
  }
}

TEST(Scheduler, LearnsWhoComesForLongTasks) {
  Scheduler scheduler;
  Stream stream(0);
  scheduler.attach(stream);
  TestTask tasks[3] = {TestTask([] { return Progress::kDone; }), TestTask([] { return Progress::kDone; }),
                       TestTask([] { return Progress::kDone; })};
  scheduler.enqueue(stream, tasks[0]);  // starts the worker
  scheduler.wait(stream);
  // No worker runs it, as the program waits.
  stream.attend();
  stream.noteLong(ahead());
  scheduler.enqueue(stream, tasks[1]);
  scheduler.wait(stream);
  EXPECT_FALSE(stream.noteLong(ahead()));
  // The program does not wait. The worker is not woken, and finds it when it looks.
  stream.leave();
  scheduler.enqueue(stream, tasks[2], true);
  while (!tasks[2].finished) std::this_thread::yield();
  EXPECT_TRUE(stream.noteLong(ahead()));
  scheduler.detach(stream);
}

TEST(Scheduler, OneThreadDrivesStreamsThatWaitForEachOther) {
  OwnedStream a(0), b(1);
  std::atomic<int> turn{0};
  const auto pingPong = [&turn](int mine, int rounds) {
    return [&turn, mine, left = rounds]() mutable {
      while (left > 0) {
        if (turn.load() % 2 != mine) return Progress::kWouldBlock;
        ++turn;
        --left;
      }
      return Progress::kDone;
    };
  };
  TestTask ping(pingPong(0, 1000)), pong(pingPong(1, 1000));
  Scheduler::instance().enqueue(a.get(), ping);
  Scheduler::instance().enqueue(b.get(), pong);
  Scheduler::instance().wait(a.get());
  Scheduler::instance().wait(b.get());
  EXPECT_EQ(turn.load(), 2000);
}

TEST(Scheduler, AWaitingThreadAsksAStalledTaskWhetherItStillMakesSense) {
  OwnedStream stream(0);
  TestTask hopeless([] { return Progress::kWouldBlock; });
  hopeless.giveUp = true;
  Scheduler::instance().enqueue(stream.get(), hopeless);
  Scheduler::instance().wait(stream.get());
  EXPECT_GE(hopeless.stalls.load(), 1);
  ASSERT_TRUE(stream.get().takeError());
}

TEST(Scheduler, AWorkerAsksAStalledTaskToo) {
  OwnedStream stream(0);
  TestTask hopeless([] { return Progress::kWouldBlock; });
  hopeless.giveUp = true;
  Scheduler::instance().enqueue(stream.get(), hopeless);
  while (!hopeless.finished.load(std::memory_order_acquire)) std::this_thread::yield();
  EXPECT_TRUE(hopeless.failed);
}

// A thread that helps in passing, or waits only for tasks that were enqueued before, leaves the rest to the
// worker.
TEST(Scheduler, AWorkerTakesOverWhatOthersLeave) {
  for (const bool attended : {false, true}) {
    OwnedStream stream(0);
    Stream& queue = stream.get();
    if (attended)
      queue.attend();
    else
      ASSERT_TRUE(queue.tryClaim());
    TestTask task([] { return Progress::kDone; });
    Scheduler::instance().enqueue(queue, task);
    // An idle worker sleeps for good by then.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_FALSE(task.finished);
    if (attended)
      queue.leave();
    else
      queue.release();
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!task.finished && std::chrono::steady_clock::now() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(task.finished) << (attended ? "attended" : "claimed");
  }
}

// Workers of other devices look at the streams between the two.
TEST(Scheduler, AWorkerTakesTurnsWithTheStreamsOfItsDevice) {
  Scheduler scheduler;
  constexpr int kOthers = 6;
  std::vector<std::unique_ptr<Stream>> streams;
  for (const int device : {0, 1, 2, 3, 4, 5, 6, 0})
    scheduler.attach(*streams.emplace_back(std::make_unique<Stream>(device)));
  std::atomic<bool> over{false}, secondIsThere{false};
  std::atomic<int> looks{0};
  const auto block = [&] { return over ? Progress::kDone : Progress::kWouldBlock; };
  std::vector<std::unique_ptr<TestTask>> others;
  for (std::size_t i = 1; i <= kOthers; ++i)
    scheduler.enqueue(*streams[i], *others.emplace_back(std::make_unique<TestTask>(block)));
  TestTask first([&] { return looks += secondIsThere ? 1 : 0, block(); });
  scheduler.enqueue(*streams.back(), first);
  // By then all of them look only now and then.
  while (first.stalls < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  TestTask second([&] { return over = true, Progress::kDone; });
  scheduler.enqueue(*streams.front(), second);
  secondIsThere = true;
  while (!over) std::this_thread::yield();  // without helping
  for (const auto& stream : streams) scheduler.detach(*stream);
  EXPECT_LE(looks, 2);
}

TEST(Scheduler, ManyThreadsMayEnqueueAndWait) {
  constexpr int kThreads = 4, kTasks = 300;
  OwnedStream stream(0);
  int count = 0;  // only touched by tasks, which never overlap
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      std::vector<std::unique_ptr<TestTask>> tasks;
      for (int i = 0; i < kTasks; ++i) {
        tasks.push_back(std::make_unique<TestTask>([&] { return ++count, Progress::kDone; }));
        Scheduler::instance().enqueue(stream.get(), *tasks.back());
        if (i % 16 == 0) Scheduler::instance().wait(stream.get());
      }
      Scheduler::instance().wait(stream.get());
      for (const auto& task : tasks) EXPECT_TRUE(task->finished);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTasks);
}

TEST(Scheduler, WaitingForADeviceWaitsForAllItsStreams) {
  OwnedStream a(0), b(0);
  int done = 0;
  TestTask one([&] { return ++done, Progress::kDone; });
  Scheduler::instance().enqueue(a.get(), one);
  EXPECT_FALSE(Scheduler::instance().waitDevice(0));
  TestTask two([]() -> Progress { throw Error(ResultCode::kRemoteError, "late"); });
  Scheduler::instance().enqueue(b.get(), two);
  const auto error = Scheduler::instance().waitDevice(0);
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "late");
  EXPECT_EQ(done, 1);
}

TEST(WaitPolicy, SpinsOnlyWhereEachRankHasACore) {
  EXPECT_GT(chooseWaitPolicy(false).spins, 0);
  EXPECT_EQ(chooseWaitPolicy(true).spins, 0);
  EXPECT_GT(chooseWaitPolicy(true).yielding.count(), 0);
}

TEST(Backoff, CallsForALookOnceItHasWaitedForAWhile) {
  Backoff backoff(WaitPolicy{1, std::chrono::microseconds(1), std::chrono::microseconds(200),
                             std::chrono::microseconds(400)});
  EXPECT_FALSE(backoff.takeStall());
  int pauses = 0;
  bool stalled = false;
  while (!stalled && ++pauses < 10000) {
    backoff.pause();
    stalled = backoff.takeStall();
  }
  EXPECT_TRUE(stalled);
  EXPECT_FALSE(backoff.takeStall()) << "once per interval";
}

TEST(Backoff, SleepsOnceItHasYieldedForItsTime) {
  constexpr std::chrono::milliseconds kSleep{2};
  Backoff backoff(WaitPolicy{0, std::chrono::microseconds(1), kSleep, kSleep});
  for (int i = 0; i < 40; ++i) backoff.pause();
  const auto begin = std::chrono::steady_clock::now();
  backoff.pause();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kSleep);
}

TEST(HostDevice, CountComesFromTheSettingOrTheCores) {
  Settings settings;
  EXPECT_GE(hostDeviceCount(settings), 1);
  settings.set(spec(Setting::kHostDevices), "7", "test");
  EXPECT_EQ(hostDeviceCount(settings), 7);
}

TEST(HostDevice, ProcessesOfThisHostHaveOneEach) {
  setenv("SLURM_STEP_TASKS_PER_NODE", "1,2000(x2)", 1);
  setenv("SLURM_NODEID", "2", 1);
  EXPECT_EQ(hostDeviceCount(Settings()), 2000);
  setenv("LOCAL_WORLD_SIZE", "1000", 1);
  EXPECT_EQ(hostDeviceCount(Settings()), 1000) << "torchrun in a step of Slurm's";
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", "LOCAL_WORLD_SIZE"}) unsetenv(name);
}

TEST(HostDevice, TheCurrentDeviceBelongsToTheThread) {
  setCurrentDevice(1);
  int other = -1;
  std::thread([&] { other = currentDevice(); }).join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(currentDevice(), 1);
  setCurrentDevice(0);
}

TEST(HostDevice, MemoryIsAligned) {
  EXPECT_EQ(allocateMemory(0), nullptr);
  for (const std::size_t bytes : {1, 300, 5 << 20}) {
    void* memory = allocateMemory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    releaseMemory(memory);
  }
}

}  // namespace
}  // namespace xylem::device
