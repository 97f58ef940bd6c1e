#include "runtime/comm/issue/launch_work.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace xylem::comm {
namespace {

using device::Progress;
using ::testing::ElementsAre;

// Copies of this rank to itself, the items that need no other rank.
class Copies {
 public:
  explicit Copies(std::size_t bytes) : from(bytes, std::byte{7}), to(bytes) {}
  TransferPath path() {
    TransferPath path;
    path.sends = true;
    path.work = {.input = from.data(), .output = to.data(), .bytes = to.size()};
    return path;
  }
  bool done() const { return from == to; }

  std::vector<std::byte> from, to;
};

// A collective of one rank: one instruction that copies the input.
const collectives::Program kCopyProgram = {
    [](const collectives::Shape&) { return std::uint64_t{1}; },
    [](const collectives::Shape& shape, std::uint64_t) {
      return collectives::Instruction::copy(collectives::inInput(0), collectives::inOutput(0), shape.count);
    }};

ProgramPath programOf(Copies& copies) {
  ProgramPath path;
  path.program[0].program = kCopyProgram;
  path.program[0].shape.count = copies.to.size();
  path.program[0].buffers = {copies.from.data(), copies.to.data(), nullptr};
  path.program[0].reduction = collectives::copyOf(DataType::kInt8);
  return path;
}

struct Observed final : ItemObserver {
  void timed(WorkItem&, const gpu::WorkTimes&) override {}
  void started(WorkItem& item) override { seen.push_back(std::string("start ") + name(item.function)); }
  void ended(WorkItem& item) override { seen.push_back(std::string("end ") + name(item.function)); }
  std::vector<std::string> seen;
};

Progress runToEnd(LaunchWork& work, ItemObserver* observer = nullptr) {
  Progress progress = Progress::kAdvanced;
  for (int steps = 0; steps < 1000 && progress == Progress::kAdvanced; ++steps)
    progress = work.step(true, observer);
  return progress;
}

TEST(LaunchWork, StepsAllQueuesUntilTheirItemsAreDone) {
  LaunchWork work;
  Copies small(100), large(5 << 20), program(1000);
  work.add(work.newQueue()).path = large.path();
  const int queue = work.newQueue();
  work.add(queue).path = small.path();
  work.add(queue).path = programOf(program);
  EXPECT_EQ(work.step(true, nullptr), Progress::kAdvanced);
  EXPECT_TRUE(small.done() && program.done()) << "a queue goes on with its next item";
  EXPECT_FALSE(large.done()) << "a step of a long item leaves the rest to the next one";
  EXPECT_EQ(work.open().size(), 1u);
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  EXPECT_TRUE(large.done());
}

TEST(LaunchWork, HoldsCollectivesBackUntilTheyMayStart) {
  LaunchWork work;
  Copies transfer(8), collective(8);
  WorkItem& item = work.add(work.channelQueue(0));
  item.function = Function::kAllReduce;
  item.path = programOf(collective);
  WorkItem& send = work.add(work.transferQueue(3));
  send.function = Function::kSend;
  send.path = transfer.path();
  EXPECT_EQ(work.step(false, nullptr), Progress::kAdvanced);
  EXPECT_TRUE(transfer.done());
  EXPECT_EQ(work.step(false, nullptr), Progress::kWouldBlock);
  EXPECT_FALSE(collective.done());
  EXPECT_EQ(work.open().front()->waitsFor(), Executor::kNobody);
  EXPECT_EQ(work.step(true, nullptr), Progress::kDone);
  EXPECT_TRUE(collective.done());
}

TEST(LaunchWork, TellsTheObserverOfObservedItems) {
  LaunchWork work;
  Copies first(8), second(8), third(8);
  Observed observed;
  for (auto& [copies, function] : {std::pair{&first, Function::kAllReduce},
                                   {&second, Function::kBroadcast},
                                   {&third, Function::kReduce}}) {
    WorkItem& item = work.add(work.channelQueue(0));
    item.function = function;
    item.path = programOf(*copies);
    item.observed = copies != &second;
  }
  EXPECT_EQ(runToEnd(work, &observed), Progress::kDone);
  EXPECT_THAT(observed.seen, ElementsAre("start AllReduce", "end AllReduce", "start Reduce", "end Reduce"));
}

// Receives are timed from their start: it is that of the launch, whatever is sent before them.
TEST(LaunchWork, SendsAndReceivesStartBeforeAnyOfThemMovesData) {
  LaunchWork work;
  Copies first(8), second(8), third(8);
  Observed observed;
  for (auto& [copies, function, queue] : {std::tuple{&first, Function::kSend, 0},
                                          {&second, Function::kRecv, 1},
                                          {&third, Function::kSend, 1}}) {
    WorkItem& item = work.add(work.transferQueue(static_cast<std::size_t>(queue)));
    item.function = function;
    item.path = copies->path();
    item.observed = true;
  }
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(runToEnd(work, &observed), Progress::kDone);
    EXPECT_THAT(observed.seen,
                ElementsAre("start Send", "start Recv", "end Send", "end Recv", "start Send", "end Send"));
    observed.seen.clear();
    work.restart();
  }
}

TEST(LaunchWork, ReadsScalarsWhenTheItemStarts) {
  LaunchWork work;
  std::array<float, 2> from = {2, 3}, to{};
  float scalar = 1;
  WorkItem& item = work.add(work.channelQueue(0));
  Copies unused(1);
  ProgramPath path = programOf(unused);
  path.program[0].shape.count = from.size();
  path.program[0].shape.scales = true;
  path.program[0].buffers = {reinterpret_cast<const std::byte*>(from.data()),
                             reinterpret_cast<std::byte*>(to.data()), nullptr};
  path.program[0].reduction = collectives::choosePreMulSum(DataType::kFloat32, &scalar);
  item.path = path;
  item.scalarAddress = reinterpret_cast<const std::byte*>(&scalar);
  item.scalarBytes = sizeof scalar;
  scalar = 10;
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  EXPECT_THAT(to, ElementsAre(20, 30));
}

TEST(LaunchWork, RunsItemsAgainInOtherBuffers) {
  LaunchWork work;
  Copies first(8), second(8);
  std::vector<CommOperation> operations(2);
  for (std::size_t i = 0; i < 2; ++i) {
    WorkItem& item = work.add(work.newQueue());
    item.function = Function::kSend;
    item.place = i;
    item.path = (i == 0 ? first : second).path();
  }
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  const std::vector<std::byte> next(8, std::byte{9}), last(8, std::byte{5});
  operations[0].send = next.data();
  operations[1].send = last.data();
  work.forEachItem([&](WorkItem& item) { item.rebind(operations[item.place]); });
  work.restart();
  EXPECT_EQ(work.open().size(), 2u);
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  EXPECT_EQ(first.to, next);
  EXPECT_EQ(second.to, last);
}

TEST(LaunchWork, GoesOnWithItemsThatWereSteppedAlone) {
  LaunchWork work;
  Copies small(8), large(5 << 20);
  work.add(work.newQueue()).path = small.path();
  work.add(work.newQueue()).path = large.path();
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  const std::vector<SingleItem> items = work.openSingles();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(work.open().size(), 2u);
  for (Copies* const copies : {&small, &large}) copies->from.assign(copies->from.size(), std::byte{3});
  EXPECT_EQ(items[0].executor->step(*items[0].item, nullptr), Progress::kDone);
  EXPECT_EQ(items[1].executor->step(*items[1].item, nullptr), Progress::kAdvanced);
  EXPECT_TRUE(small.done());
  EXPECT_FALSE(large.done());
  small.to.assign(8, std::byte{0});
  work.keepOpen(0b10);
  EXPECT_EQ(work.open().size(), 1u);
  EXPECT_EQ(runToEnd(work), Progress::kDone) << "the work has the rest of the second item";
  EXPECT_TRUE(large.done());
  EXPECT_FALSE(small.done()) << "the first one was not run again";
}

TEST(LaunchWork, HasNoSingleItemsIfOneQueueHasMore) {
  LaunchWork work;
  Copies copies(8);
  work.add(work.newQueue()).path = copies.path();
  const int queue = work.newQueue();
  for (int item = 0; item < 2; ++item) work.add(queue).path = copies.path();
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  EXPECT_TRUE(work.openSingles().empty());
}

TEST(LaunchWork, HasNoSingleItemsIfThereAreTooMany) {
  LaunchWork work;
  Copies copies(8);
  for (std::size_t i = 0; i < LaunchWork::kMostSingles; ++i) work.add(work.newQueue()).path = copies.path();
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  EXPECT_EQ(work.openSingles().size(), LaunchWork::kMostSingles);
  work.add(work.newQueue()).path = copies.path();
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  EXPECT_TRUE(work.openSingles().empty());
}

TEST(LaunchWork, StartsAfreshAfterWorkThatWasLeftUnfinished) {
  LaunchWork work;
  Copies large(5 << 20), next(8);
  work.add(work.newQueue()).path = large.path();
  EXPECT_EQ(work.step(true, nullptr), Progress::kAdvanced);
  work.clear();
  work.add(work.newQueue()).path = next.path();
  EXPECT_EQ(runToEnd(work), Progress::kDone);
  EXPECT_TRUE(next.done());
}

}  // namespace
}  // namespace xylem::comm
