// libnccl-net-xylem.so, loaded by our own loader as NCCL loads it: the tables of all its versions.

#include <gmock/gmock.h>

#include <atomic>

#include "core/deadline.h"
#include "core/settings.h"
#include "runtime/plugins/plugin_network.h"
#include "runtime/plugins/test_net.h"

namespace xylem::plugins {
namespace {

class OfferedNetworkOf : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { ASSERT_TRUE(library_) << library_.error(); }
  std::unique_ptr<NetFunctions> functions() const {
    const std::string symbol = abi::kNetSymbol + std::to_string(GetParam());
    void* const table = library_.object(symbol.c_str());
    return table == nullptr ? nullptr : netFunctions(GetParam(), table);
  }
  static void say(int level, unsigned long, const char*, int, const char*, ...) {
    if (level == static_cast<int>(LogLevel::kWarn)) ++warnings_;
  }
  static int warnings() { return warnings_; }

 private:
  const Faults loopback_{{"NCCL_SOCKET_IFNAME", "lo"}};
  static inline std::atomic<int> warnings_{0};
  SharedLibrary library_{XYLEM_OFFERED_NETWORK, SharedLibrary::Stay::kForEver};
};

TEST_P(OfferedNetworkOf, CarriesMessagesThroughItsTable) {
  const auto net = functions();
  ASSERT_TRUE(net);
  EXPECT_EQ(net->name(), "Xylem");
  void* context = nullptr;
  ASSERT_EQ(net->init(say, {}, context), abi::kSuccess);
  ASSERT_EQ(net->init(say, {}, context), abi::kSuccess) << "again, as NCCL does without reloading";
  EXPECT_EQ(net->missing(), "");
  int devices = 0, type = -1;
  ASSERT_EQ(net->devices(devices), abi::kSuccess);
  ASSERT_GE(devices, 1);
  transport::NetProperties properties;
  ASSERT_EQ(net->properties(0, properties, type), abi::kSuccess);
  EXPECT_EQ(properties.name, "lo");
  EXPECT_EQ(properties.pointers, transport::kHostPointer);
  EXPECT_EQ(type, abi::kHostNetDevice);
  EXPECT_NE(net->properties(devices, properties, type), abi::kSuccess);

  alignas(16) transport::NetHandle handle{};
  void *listening = nullptr, *sender = nullptr, *receiver = nullptr;
  ASSERT_EQ(net->listen(context, 0, handle, listening), abi::kSuccess);
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  while ((sender == nullptr || receiver == nullptr) && !deadline.passed()) {
    if (sender == nullptr) {
      ASSERT_EQ(net->connect(context, {}, 0, handle, sender), abi::kSuccess);
    }
    if (receiver == nullptr) {
      ASSERT_EQ(net->accept(listening, receiver), abi::kSuccess);
    }
  }
  ASSERT_TRUE(sender != nullptr && receiver != nullptr);
  EXPECT_EQ(net->closeListen(listening), abi::kSuccess);

  std::vector<std::byte> out(3'000'000), in(4'000'000);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 31 + i / 257);
  void *toSend = nullptr, *toReceive = nullptr;
  EXPECT_NE(net->registerMemory(sender, out.data(), out.size(), abi::kPtrCuda, toSend), abi::kSuccess);
  ASSERT_EQ(net->registerMemory(sender, out.data(), out.size(), abi::kPtrHost, toSend), abi::kSuccess);
  ASSERT_EQ(net->registerMemory(receiver, in.data(), in.size(), abi::kPtrHost, toReceive), abi::kSuccess);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{70'000}, out.size()}) {
    void *sent = nullptr, *posted = nullptr;
    const transport::NetBuffer buffer{in.data(), in.size(), 5, static_cast<transport::NetMemory*>(toReceive)};
    ASSERT_EQ(net->irecv(receiver, {&buffer, 1}, posted), abi::kSuccess);
    ASSERT_EQ(net->isend(sender, out.data(), bytes, 5, toSend, sent), abi::kSuccess);
    ASSERT_TRUE(sent != nullptr && posted != nullptr);
    bool left = false, come = false;
    int size = -1;
    while ((!left || !come) && !deadline.passed()) {
      if (!left) {
        ASSERT_EQ(net->test(sent, left, nullptr), abi::kSuccess);
      }
      if (!come) {
        ASSERT_EQ(net->test(posted, come, &size), abi::kSuccess);
      }
    }
    ASSERT_TRUE(left && come);
    EXPECT_EQ(static_cast<std::size_t>(size), bytes);
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + size, in.begin()));
  }
  EXPECT_EQ(net->deregisterMemory(sender, toSend), abi::kSuccess);
  EXPECT_EQ(net->deregisterMemory(receiver, toReceive), abi::kSuccess);

  // A receiver loses its link when the sender goes, as at the end of every job.
  const int before = warnings();
  void* posted = nullptr;
  const transport::NetBuffer buffer{in.data(), in.size(), 5, nullptr};
  ASSERT_EQ(net->irecv(receiver, {&buffer, 1}, posted), abi::kSuccess);
  EXPECT_EQ(net->closeSend(sender), abi::kSuccess);
  abi::Result result = abi::kSuccess;
  bool come = false;
  while (result == abi::kSuccess && !deadline.passed()) result = net->test(posted, come, nullptr);
  EXPECT_EQ(result, abi::kRemoteError);
  EXPECT_EQ(warnings(), before);
  EXPECT_EQ(net->closeReceive(receiver), abi::kSuccess);
}

TEST_P(OfferedNetworkOf, RefusesAHandleThatIsNone) {
  const auto net = functions();
  void *context = nullptr, *comm = nullptr;
  ASSERT_EQ(net->init(say, {}, context), abi::kSuccess);
  alignas(16) transport::NetHandle handle{};
  EXPECT_NE(net->connect(context, {}, 0, handle, comm), abi::kSuccess);
  EXPECT_EQ(comm, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Versions, OfferedNetworkOf, ::testing::Values(8, 9, 10),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST(OfferedNetwork, IsANetPluginLikeAnyOther) {
  const Faults loopback{{"NCCL_SOCKET_IFNAME", "lo"}};
  const auto log = std::make_shared<const Logger>(Settings());
  const NetPluginChoice choice = chooseNetPlugin({XYLEM_OFFERED_NETWORK, "xylem"}, log);
  ASSERT_TRUE(choice.plugin);
  EXPECT_EQ(choice.plugin->functions().version(), 10);
}

}  // namespace
}  // namespace xylem::plugins
