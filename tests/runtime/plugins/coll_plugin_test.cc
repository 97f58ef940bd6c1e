// Reductions through the network of a net plugin's library, of every version; and plugins that cannot be
// used.

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "core/settings.h"
#include "runtime/plugins/plugin_network.h"
#include "runtime/plugins/test_net.h"

namespace xylem::plugins {
namespace {

using ::testing::HasSubstr;

// A logger without output.
std::shared_ptr<const Logger> quiet() {
  static const auto log = std::make_shared<const Logger>(Settings());
  return log;
}

std::shared_ptr<const NetPlugin> netOf(int version) {
  return std::make_shared<const NetPlugin>(testNetLibrary(version, *quiet()), quiet());
}

std::unique_ptr<PluginCollNetwork> networkOf(int version) {
  const auto net = netOf(version);
  const auto coll = net->collective(quiet());
  EXPECT_TRUE(coll);
  return coll ? std::make_unique<PluginCollNetwork>(net, coll) : nullptr;
}

// Each member has a thread, as connecting waits.
void withMembers(transport::CollNetwork& network, int members,
                 const std::function<void(int, transport::CollLink&)>& work) {
  std::vector<std::unique_ptr<transport::CollListener>> listeners;
  std::vector<transport::NetHandle> handles;
  for (int i = 0; i < members; ++i) {
    listeners.push_back(network.listen(network.deviceBeside(0)));
    handles.push_back(listeners.back()->handle());
  }
  std::vector<std::thread> threads;
  for (int self = 0; self < members; ++self)
    threads.emplace_back([&, self] {
      const auto link = network.connect(handles, self, *listeners[static_cast<std::size_t>(self)]);
      work(self, *link);
    });
  for (std::thread& thread : threads) thread.join();
}

// Several reductions at once; compares each result.
void reduceSome(int self, int members, transport::CollLink& link) {
  constexpr std::size_t kCount = 5000, kAtOnce = 4;
  std::vector<std::int32_t> in(kCount * kAtOnce), out(kCount * kAtOnce, -1);
  std::iota(in.begin(), in.end(), self);
  const auto bytes = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
  const std::size_t size = in.size() * sizeof(std::int32_t);
  transport::NetMemory* inMemory = link.registerMemory(bytes(in), size, transport::kHostPointer);
  transport::NetMemory* outMemory = link.registerMemory(bytes(out), size, transport::kHostPointer);
  std::vector<transport::NetRequest*> requests;
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    transport::NetRequest* request = nullptr;
    while (request == nullptr)
      request = link.iallreduce(bytes(in) + i * kCount * 4, bytes(out) + i * kCount * 4, kCount,
                                DataType::kInt32, ReduceOp::kSum, inMemory, outMemory);
    requests.push_back(request);
  }
  for (transport::NetRequest* request : requests)
    while (!link.test(request)) std::this_thread::yield();
  for (std::size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(out[i], members * static_cast<std::int32_t>(i) + members * (members - 1) / 2) << i;
  link.deregisterMemory(outMemory);
  link.deregisterMemory(inMemory);
}

// One AllGather and one ReduceScatter, with parts that do not follow each other in memory.
void gatherAndScatter(int self, int members, transport::CollLink& link) {
  constexpr std::size_t kCount = 100, kStride = 130;
  const auto n = static_cast<std::size_t>(members);
  std::vector<std::int32_t> own(kCount, self + 1), all(kStride * n, -1);
  const auto bytes = [](auto& values) { return reinterpret_cast<std::byte*>(values.data()); };
  transport::NetMemory* ownMemory = link.registerMemory(bytes(own), kCount * 4, transport::kHostPointer);
  transport::NetMemory* allMemory = link.registerMemory(bytes(all), kStride * n * 4, transport::kHostPointer);
  std::vector<transport::CollPart> parts;
  for (std::size_t i = 0; i < n; ++i) parts.push_back({bytes(all) + i * kStride * 4, kCount * 4});
  const auto finish = [&](const auto& begin) {
    transport::NetRequest* request = nullptr;
    while (request == nullptr) request = begin();
    while (!link.test(request)) std::this_thread::yield();
  };
  finish([&] { return link.iallgather(bytes(own), parts, ownMemory, allMemory); });
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(all[i * kStride + kCount - 1], static_cast<int>(i) + 1);
    ASSERT_EQ(all[i * kStride + kCount], -1);
  }
  finish([&] {
    return link.ireducescatter(parts, bytes(own), DataType::kInt32, ReduceOp::kSum, allMemory, ownMemory);
  });
  ASSERT_EQ(own[kCount - 1], members * (self + 1));
  link.deregisterMemory(allMemory);
  link.deregisterMemory(ownMemory);
}

class CollPluginOf : public ::testing::TestWithParam<int> {};

TEST_P(CollPluginOf, ReducesAmongThree) {
  const auto network = networkOf(GetParam());
  ASSERT_TRUE(network);
  EXPECT_EQ(network->name(), testNetName(GetParam()));
  withMembers(*network, 3, [](int self, transport::CollLink& link) { reduceSome(self, 3, link); });
  EXPECT_EQ(network->gathers(), GetParam() >= 8);
  EXPECT_EQ(network->scatters(), GetParam() >= 8);
  if (network->gathers())
    withMembers(*network, 3, [](int self, transport::CollLink& link) { gatherAndScatter(self, 3, link); });
  EXPECT_EQ(testNetLiving(GetParam()), 0);
}

TEST_P(CollPluginOf, HasAContextForEachUser) {
  const int version = GetParam();
  const int contexts = version >= 11 ? 1 : 0;
  {
    const auto net = netOf(version);
    const auto coll = net->collective(quiet());
    ASSERT_TRUE(coll);
    EXPECT_EQ(testNetUsers(version).contexts, 2 * contexts) << "of both networks, for their devices";
    auto network = std::make_unique<PluginCollNetwork>(net, coll, 5);
    EXPECT_EQ(testNetUsers(version).contexts, 2 * contexts) << "it has listened nowhere";
    const auto listener = network->listen(0), other = network->listen(0);
    EXPECT_EQ(testNetUsers(version).contexts, 3 * contexts);
    network.reset();
    EXPECT_EQ(testNetUsers(version).contexts, 3 * contexts) << "a listener is still there";
  }
  EXPECT_EQ(testNetUsers(version).contexts, 0);
}

TEST_P(CollPluginOf, SaysWhatItReduces) {
  const auto network = networkOf(GetParam());
  ASSERT_TRUE(network);
  EXPECT_TRUE(network->reduces(DataType::kFloat64, ReduceOp::kMin));
  EXPECT_FALSE(network->reduces(DataType::kBfloat16, ReduceOp::kSum));
  EXPECT_FALSE(network->reduces(DataType::kFloat32, ReduceOp::kAvg));
  EXPECT_EQ(network->properties(0).name, "test0");
  EXPECT_EQ(network->properties(0).maxBytes, std::size_t{1} << 29);
}

INSTANTIATE_TEST_SUITE_P(Versions, CollPluginOf, ::testing::ValuesIn(kTestNetVersions),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST(CollPlugin, ASlowOneIsNoneTheWorse) {
  const Faults faults{{"TEST_COLL_SLOW", "7"}, {"TEST_COLL_BUSY", "2"}};
  const auto network = networkOf(8);
  withMembers(*network, 2, [](int self, transport::CollLink& link) { reduceSome(self, 2, link); });
}

// The net plugin of the same library works all the same.
std::string whyNot(std::initializer_list<std::pair<std::string, std::string>> set) {
  const Faults faults(set);
  const auto net = netOf(9);
  EXPECT_FALSE(net->collective(quiet()));
  try {
    const CollPlugin refused(testNetLibrary(9, *quiet()), quiet());
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is wrong with it";
}

TEST(CollPlugin, ThatCannotServeSaysWhy) {
  EXPECT_THAT(whyNot({{"TEST_COLL_INIT", "2"}}),
              HasSubstr("collnet plugin Test09: init failed: system error (2)"));
  EXPECT_THAT(whyNot({{"TEST_COLL_DEVICES", "0"}}), HasSubstr("Test09 has no devices"));
  EXPECT_THAT(whyNot({{"TEST_COLL_MAX", "0"}}), HasSubstr("0 bytes at most"));
  EXPECT_THAT(whyNot({{"TEST_COLL_SUPPORT", "3"}}),
              HasSubstr("collnet plugin Test09: reduceSupport failed: internal error (3)"));
  EXPECT_THAT(whyNot({{"TEST_COLL_NONE", "1"}}), HasSubstr("Test09 reduces no data type with any operator"));
  EXPECT_THAT(whyNot({{"TEST_COLL_NO_NAME", "1"}}), HasSubstr("Test09: device 0 has no name"));
}

TEST(CollPlugin, ALibraryWithoutOneSaysSo) {
  const auto library = PluginLibrary::find({"NET/Plugin", "libnccl-net", XYLEM_OFFERED_NETWORK}, *quiet());
  ASSERT_TRUE(library);
  try {
    const CollPlugin none(library, quiet());
    FAIL() << "it has one";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no ncclCollNetPlugin_v6 to ncclCollNetPlugin_v12"));
  }
}

TEST(CollPlugin, AFailedCallNamesPluginAndCall) {
  const auto network = networkOf(10);
  const Faults faults{{"TEST_COLL_BREAK_AFTER", "1"}};
  std::atomic<int> broken{0};
  withMembers(*network, 2, [&](int, transport::CollLink& link) {
    std::vector<std::byte> data(8);
    transport::NetMemory* memory = link.registerMemory(data.data(), data.size(), transport::kHostPointer);
    try {
      link.iallreduce(data.data(), data.data(), 2, DataType::kInt32, ReduceOp::kSum, memory, memory);
    } catch (const transport::LinkBroken& error) {
      EXPECT_STREQ(error.what(), "collnet plugin Test10: iallreduce failed: remote error (6)");
      ++broken;
    }
    link.deregisterMemory(memory);
  });
  EXPECT_EQ(broken, 2);
}

}  // namespace
}  // namespace xylem::plugins
