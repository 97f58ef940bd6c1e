#include "runtime/comm/issue/kept_works.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace xylem::comm {
namespace {

using Buffer = std::vector<std::byte>;

// A group of copies from this rank to itself, which need no other rank.
struct Group {
  explicit Group(const std::vector<std::size_t>& sizes, std::byte value = std::byte{7}) {
    for (const std::size_t bytes : sizes) {
      from.emplace_back(bytes, value);
      to.emplace_back(bytes);
      operations.push_back(
          {.function = Function::kSend, .send = from.back().data(), .count = bytes, .type = DataType::kInt8});
    }
  }
  // Makes the current work that of the group, a queue for each copy.
  void fill(KeptWorks& works) {
    works.work().clear();
    for (std::size_t i = 0; i < operations.size(); ++i) {
      WorkItem& item = works.work().add(works.work().newQueue());
      item.function = Function::kSend;
      item.place = i;
      TransferPath path;
      path.sends = true;
      path.work = {.input = from[i].data(), .output = to[i].data(), .bytes = to[i].size()};
      item.path = path;
    }
  }
  // Runs it for the first time, and keeps it.
  void run(KeptWorks& works) {
    EXPECT_FALSE(works.again(operations, 0));
    EXPECT_EQ(works.number(), 0u);
    fill(works);
    while (!works.step(nullptr)) {
    }
    EXPECT_EQ(from, to);
    works.keep(operations, {.exchanged = 0, .all = operations.size()});
  }

  std::vector<Buffer> from, to;
  std::vector<CommOperation> operations;
};

constexpr std::size_t kSteps = std::size_t{5} << 20;  // bytes that take some steps

TEST(KeptWorks, RunAgainInOtherBuffers) {
  for (const auto& sizes : {std::vector<std::size_t>{8}, std::vector<std::size_t>{8, kSteps, 100}}) {
    KeptWorks works;
    Group first(sizes);
    first.run(works);
    EXPECT_NE(works.number(), 0u);
    EXPECT_EQ(works.bytes().all, sizes.size());
    EXPECT_EQ(works.calls().size(), sizes.size());
    const Group next(sizes, std::byte{9});
    ASSERT_TRUE(works.again(next.operations, 0));
    int steps = 1;
    while (!works.step(nullptr)) ++steps;
    EXPECT_EQ(steps > 1, sizes.size() > 1);
    EXPECT_EQ(first.to, next.from);
  }
}

TEST(KeptWorks, RunAgainByTheirNumberInTheSameBuffers) {
  KeptWorks works;
  Group first({8, 100}), second({16});
  first.run(works);
  const std::uint64_t number = works.number();
  second.run(works);
  EXPECT_NE(works.number(), number);
  Group next({8, 100}, std::byte{9});
  ASSERT_TRUE(works.again(next.operations, 0));
  const std::uint64_t inNewBuffers = works.number();
  EXPECT_NE(inNewBuffers, number) << "it stands for the buffers, too";
  EXPECT_TRUE(works.step(nullptr));
  EXPECT_EQ(first.to, next.from);
  std::ranges::fill(next.from[1], std::byte{3});
  ASSERT_TRUE(works.again(next.operations, inNewBuffers));
  EXPECT_TRUE(works.step(nullptr));
  EXPECT_EQ(first.to, next.from);
  EXPECT_EQ(works.number(), inNewBuffers);
}

TEST(KeptWorks, AreTheLastFour) {
  KeptWorks works;
  std::vector<Group> groups;
  for (std::size_t bytes = 1; bytes <= 5; ++bytes) groups.emplace_back(std::vector<std::size_t>{bytes});
  for (Group& group : groups) group.run(works);
  for (std::size_t i = 1; i < groups.size(); ++i) EXPECT_TRUE(works.again(groups[i].operations, 0)) << i;
  EXPECT_FALSE(works.again(groups[0].operations, 0));
}

TEST(KeptWorks, AreOfTheSameCallsOnly) {
  KeptWorks works;
  Group group({8, 8});
  group.run(works);
  const auto differs = [&](auto&& change) {
    std::vector<CommOperation> operations = group.operations;
    change(operations);
    KeptWorks others;
    group.run(others);
    return !others.again(operations, 0);
  };
  EXPECT_TRUE(differs([](auto& operations) { operations.pop_back(); }));
  EXPECT_TRUE(differs([](auto& operations) { operations.push_back(operations.front()); }));
  EXPECT_TRUE(differs([](auto& operations) { operations[1].count = 4; }));
  EXPECT_TRUE(differs([](auto& operations) { operations[1].peer = 1; }));
  EXPECT_TRUE(differs([](auto& operations) { operations[1].type = DataType::kUint8; }));
  EXPECT_TRUE(differs([](auto& operations) { operations[1].function = Function::kRecv; }));
  EXPECT_FALSE(differs([](auto&) {}));
}

struct Starts final : ItemObserver {
  void started(WorkItem&) override { seen.push_back('s'); }
  void ended(WorkItem&) override { seen.push_back('e'); }
  void timed(WorkItem&, const gpu::WorkTimes&) override {}
  std::string seen;
};

// As LaunchWork does.
TEST(KeptWorks, StartAllSendsAndReceivesBeforeAnyOfThemMovesData) {
  KeptWorks works;
  Group group({8, 100, 8});
  group.run(works);
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(works.again(group.operations, works.number()));
    works.work().forEachItem([](WorkItem& item) { item.observed = true; });
    Starts observer;
    EXPECT_TRUE(works.step(&observer));
    EXPECT_EQ(observer.seen, "ssseee");
  }
}

TEST(KeptWorks, AreNotOfScaledSums) {
  KeptWorks works;
  Group group({8});
  group.operations[0].reduction.scaled = true;
  group.run(works);
  EXPECT_EQ(works.number(), 0u);
  EXPECT_FALSE(works.again(group.operations, 0));
}

TEST(KeptWorks, GoOnInALaunch) {
  KeptWorks works;
  Group group({8, kSteps});
  group.run(works);
  const Group next({8, kSteps}, std::byte{9});
  ASSERT_TRUE(works.again(next.operations, 0));
  auto launched = std::make_unique<LaunchWork>();
  LaunchWork* const empty = launched.get();
  EXPECT_FALSE(works.step(nullptr));
  launched.swap(works.handedOver());
  EXPECT_EQ(&works.work(), empty);
  EXPECT_EQ(works.number(), 0u);
  EXPECT_FALSE(works.again(group.operations, 0)) << "it is not kept any more";
  EXPECT_EQ(launched->open().size(), 1u) << "the first copy is done";
  while (launched->step(true, nullptr) != device::Progress::kDone) {
  }
  EXPECT_EQ(group.to, next.from);
}

TEST(KeptWorks, AreHandedOverBeforeTheirFirstStep) {
  KeptWorks works;
  Group group({8, 100});
  group.run(works);
  const Group next({8, 100}, std::byte{9});
  ASSERT_TRUE(works.again(next.operations, 0));
  auto launched = std::make_unique<LaunchWork>();
  launched.swap(works.handedOver());
  EXPECT_EQ(launched->open().size(), 2u);
  launched->forEachItem([](WorkItem& item) { item.observed = true; });
  Starts observer;
  EXPECT_EQ(launched->step(true, &observer), device::Progress::kDone);
  EXPECT_EQ(observer.seen, "ssee");
  EXPECT_EQ(group.to, next.from);
}

}  // namespace
}  // namespace xylem::comm
