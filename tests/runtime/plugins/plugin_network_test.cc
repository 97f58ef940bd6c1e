// Messages through the network of a net plugin: of every version, and with faults that are allowed.

#include "runtime/plugins/plugin_network.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "core/deadline.h"
#include "core/settings.h"
#include "runtime/plugins/plugin_library.h"
#include "runtime/plugins/test_net.h"

namespace xylem::plugins {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Logger> silent() {
  static const auto log = std::make_shared<const Logger>(Settings());
  return log;
}

template <typename Condition>
bool soon(Condition condition) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  while (!condition())
    if (deadline.passed()) return false;
  return true;
}

struct Link {
  std::unique_ptr<transport::NetSender> sender;
  std::unique_ptr<transport::NetReceiver> receiver;
};

Link join(transport::Network& network, int device = 0) {
  Link link;
  auto listener = network.listen(device);
  auto caller = network.call(device, listener->handle());
  EXPECT_TRUE(soon([&] {
    if (!link.sender) link.sender = caller->advance();
    if (!link.receiver) link.receiver = listener->accept();
    return link.sender && link.receiver;
  }));
  return link;
}

std::vector<std::byte> pattern(std::size_t bytes, int seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed) * 7 + i / 251);
  return data;
}

// Sends messages of all sizes, `window` at a time, and compares each.
void exchange(Link& link, std::size_t largest, int messages, std::size_t window) {
  std::vector<std::byte> out(largest * window + 1), in(largest * window + 1);
  transport::NetMemory* sends = link.sender->registerMemory(out.data(), out.size(), transport::kHostPointer);
  transport::NetMemory* receives =
      link.receiver->registerMemory(in.data(), in.size(), transport::kHostPointer);
  std::vector<transport::NetRequest*> sending(window), receiving(window);
  std::vector<std::size_t> sizes(static_cast<std::size_t>(messages));
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i % 5 == 0 ? 0 : (i * 7919) % largest + 1;
  std::size_t sent = 0, posted = 0, left = 0, come = 0;
  const bool all = soon([&] {
    if (posted < sizes.size() && posted < come + window) {
      const transport::NetBuffer buffer{in.data() + posted % window * largest, largest,
                                        static_cast<std::uint32_t>(posted), receives};
      if (transport::NetRequest* r = link.receiver->irecv({&buffer, 1})) receiving[posted++ % window] = r;
    }
    if (sent < sizes.size() && sent < left + window) {
      std::byte* data = out.data() + sent % window * largest;
      const auto bytes = pattern(sizes[sent], static_cast<int>(sent));
      if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
      if (transport::NetRequest* r =
              link.sender->isend(data, bytes.size(), static_cast<std::uint32_t>(sent), sends))
        sending[sent++ % window] = r;
    }
    if (left < sent && link.sender->test(sending[left % window])) ++left;
    std::size_t got = 0;
    if (come < posted && link.receiver->test(receiving[come % window], &got)) {
      const auto expected = pattern(sizes[come], static_cast<int>(come));
      EXPECT_EQ(got, expected.size());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), in.data() + come % window * largest)) << come;
      ++come;
    }
    return left == sizes.size() && come == sizes.size();
  });
  EXPECT_TRUE(all) << sent << " sent, " << come << " received";
  link.sender->deregisterMemory(sends);
  link.receiver->deregisterMemory(receives);
}

class NetPluginOf : public ::testing::TestWithParam<int> {
 protected:
  static std::shared_ptr<const NetPlugin> load() {
    return std::make_shared<NetPlugin>(testNetLibrary(GetParam(), *silent()), silent());
  }
  static std::string refusal() {
    try {
      load();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
};

TEST_P(NetPluginOf, SaysWhatItsDevicesAre) {
  const Faults faults{{"TEST_NET_DEVICES", "3"}};
  PluginNetwork network(load());
  EXPECT_EQ(network.name(), testNetName(GetParam()));
  ASSERT_EQ(network.deviceCount(), 3);
  const transport::NetProperties properties = network.properties(2);
  EXPECT_EQ(properties.name, "test2");
  EXPECT_EQ(properties.pciPath, "");
  EXPECT_EQ(properties.guid, 2u);
  EXPECT_EQ(properties.speed, 75000);
  EXPECT_EQ(properties.port, 1);
  EXPECT_EQ(properties.latency, 1.5f);
  EXPECT_EQ(properties.maxLinks, 1000);
  EXPECT_EQ(properties.maxReceives, 8);
  EXPECT_EQ(properties.pointers, transport::kHostPointer);
  EXPECT_EQ(properties.registrationIsGlobal, GetParam() >= 8);
  EXPECT_EQ(properties.maxBytes, std::size_t{1} << (GetParam() >= 9 ? 31 : 30));
  EXPECT_TRUE(properties.needsRegistration);
}

TEST_P(NetPluginOf, CarriesMessagesAndLeavesNothingBehind) {
  {
    PluginNetwork network(load());
    Link one = join(network), other = join(network);
    exchange(one, 100'000, 60, 8);
    exchange(other, 10, 60, 32);
  }
  EXPECT_EQ(testNetLiving(GetParam()), 0);
}

TEST_P(NetPluginOf, HearsForWhomItWorks) {
  const int version = GetParam();
  const int contexts = version >= 11 ? 1 : 0;  // for each user
  auto plugin = load();
  EXPECT_EQ(testNetUsers(version).contexts, contexts) << "its devices are listed";
  {
    auto network =
        std::make_unique<PluginNetwork>(plugin, NetUser{.communicator = 0x1234, .trafficClass = 7});
    PluginNetwork other(plugin, {.communicator = 5, .trafficClass = 0});
    EXPECT_EQ(testNetUsers(version).contexts, 3 * contexts);
    Link link = join(*network);
    EXPECT_EQ(testNetUsers(version).trafficClass, version >= 10 ? 7 : 0);
    EXPECT_EQ(testNetUsers(version).communicator, version >= 11 ? 0x1234u : 0u);
    Link second = join(other);
    EXPECT_EQ(testNetUsers(version).trafficClass, 0);
    EXPECT_EQ(testNetUsers(version).communicator, version >= 11 ? 5u : 0u);
    network.reset();
    EXPECT_EQ(testNetUsers(version).contexts, 3 * contexts) << "its connections are still there";
    exchange(link, 10, 10, 8);
  }
  EXPECT_EQ(testNetUsers(version).contexts, contexts);
  plugin.reset();
  EXPECT_EQ(testNetUsers(version).contexts, 0);
}

TEST_P(NetPluginOf, CarriesThemAlsoSlowlyInPartsAndWithRefusals) {
  const Faults faults{{"TEST_NET_SLOW", "5"},
                      {"TEST_NET_PART", "7"},
                      {"TEST_NET_BUSY", "3"},
                      {"TEST_NET_LATE", "4"},
                      {"TEST_NET_NO_HANDLES", "1"}};
  {
    PluginNetwork network(load());
    Link link = join(network);
    exchange(link, 1000, 60, 4);
  }
  EXPECT_EQ(testNetLiving(GetParam()), 0);
}

TEST_P(NetPluginOf, SortsMessagesOfOneReceiveByTheirTags) {
  PluginNetwork network(load());
  Link link = join(network);
  std::vector<std::byte> in(300), out = pattern(100, 1);
  transport::NetMemory* receives =
      link.receiver->registerMemory(in.data(), in.size(), transport::kHostPointer);
  transport::NetMemory* sends = link.sender->registerMemory(out.data(), out.size(), transport::kHostPointer);
  const transport::NetBuffer buffers[] = {{in.data(), 100, 7, receives},
                                          {in.data() + 100, 100, 9, receives},
                                          {in.data() + 200, 100, 8, receives}};
  transport::NetRequest* receive = link.receiver->irecv(buffers);
  for (const auto& [tag, bytes] : {std::pair{8u, 30u}, std::pair{7u, 10u}, std::pair{9u, 20u}}) {
    transport::NetRequest* send = link.sender->isend(out.data() + bytes, bytes, tag, sends);
    ASSERT_TRUE(soon([&] { return link.sender->test(send); }));
  }
  ASSERT_TRUE(soon([&] { return link.receiver->test(receive); }));
  EXPECT_EQ(std::memcmp(in.data(), out.data() + 10, 10), 0);
  EXPECT_EQ(std::memcmp(in.data() + 100, out.data() + 20, 20), 0);
  EXPECT_EQ(std::memcmp(in.data() + 200, out.data() + 30, 30), 0);
}

TEST_P(NetPluginOf, ABrokenConnectionIsALossAndNotAMistake) {
  const Faults faults{{"TEST_NET_BREAK_AFTER", "3"}};
  PluginNetwork network(load());
  Link link = join(network);
  std::byte data{};
  transport::NetMemory* memory = link.sender->registerMemory(&data, 1, transport::kHostPointer);
  const auto send = [&] {
    ASSERT_TRUE(soon([&, r = link.sender->isend(&data, 1, 0, memory)] { return link.sender->test(r); }));
  };
  send();
  send();
  EXPECT_THROW(link.sender->isend(&data, 1, 0, memory), transport::LinkBroken);
  transport::NetMemory* into = link.receiver->registerMemory(&data, 1, transport::kHostPointer);
  const transport::NetBuffer buffer{&data, 1, 0, into};
  for (int i = 0; i < 2; ++i) {
    transport::NetRequest* r = link.receiver->irecv({&buffer, 1});
    ASSERT_TRUE(soon([&] { return link.receiver->test(r); }));
  }
  transport::NetRequest* never = link.receiver->irecv({&buffer, 1});
  EXPECT_THROW(soon([&] { return link.receiver->test(never); }), transport::LinkBroken);
}

TEST_P(NetPluginOf, WhoCannotServeIsRefusedWithTheReason) {
  {
    const Faults faults{{"TEST_NET_DEVICES", "0"}};
    EXPECT_THAT(refusal(), HasSubstr("has no devices"));
  }
  {
    const Faults faults{{"TEST_NET_DEVICES", "1025"}};
    EXPECT_THAT(refusal(), HasSubstr("says that it has 1025 devices; up to 1024 are possible"));
  }
  {
    const Faults faults{{"TEST_NET_SPEED", "2147483647"}};
    EXPECT_THAT(refusal(), HasSubstr("device 0 (test0) says that its speed is 2147483647 Mbit/s"));
  }
  {
    const Faults faults{{"TEST_NET_NAME", "0"}};
    EXPECT_THAT(refusal(), HasSubstr("device 0 has no name"));
  }
  {
    const Faults faults{{"TEST_NET_NAME", "5000"}};
    EXPECT_THAT(refusal(), HasSubstr("device 0 has a name of 5000 characters; up to 255 are possible"));
  }
  {
    const Faults faults{{"TEST_NET_INIT", "2"}};
    EXPECT_THAT(refusal(),
                HasSubstr("net plugin " + testNetName(GetParam()) + ": init failed: system error (2)"));
  }
  {
    const Faults faults{{"TEST_NET_POINTERS", "2"}};
    EXPECT_THAT(refusal(), HasSubstr("device 0 (test0) takes no host memory"));
  }
  EXPECT_EQ(refusal(), "");
}

TEST_P(NetPluginOf, AnAcceptThatWaitsHoldsUpNothingElse) {
  const Faults faults{{"TEST_NET_ACCEPT_WAITS", "1"}};
  const auto plugin = std::make_shared<NetPlugin>(testNetLibrary(GetParam(), *silent()), silent());
  PluginNetwork network(plugin);
  // Both ends accept before either connects, as the ranks of a job do.
  auto here = network.listen(0), there = network.listen(0);
  EXPECT_EQ(here->accept(), nullptr);
  EXPECT_EQ(there->accept(), nullptr);
  Link forward, back;
  auto first = network.call(0, here->handle()), second = network.call(0, there->handle());
  EXPECT_TRUE(soon([&] {
    if (!forward.sender) forward.sender = first->advance();
    if (!back.sender) back.sender = second->advance();
    if (!forward.receiver) forward.receiver = here->accept();
    if (!back.receiver) back.receiver = there->accept();
    return forward.sender && back.sender && forward.receiver && back.receiver;
  }));
  exchange(forward, 1000, 20, 4);
  exchange(back, 1000, 20, 4);
}

TEST_P(NetPluginOf, AListenerMayGoWhileAnAcceptWaits) {
  const int before = testNetLiving(GetParam());
  {
    const Faults faults{{"TEST_NET_ACCEPT_WAITS", "1"}};
    const auto plugin = std::make_shared<NetPlugin>(testNetLibrary(GetParam(), *silent()), silent());
    PluginNetwork network(plugin);
    auto listener = network.listen(0);
    EXPECT_EQ(listener->accept(), nullptr);
  }
  // Without the fault accept returns, and what is left is closed.
  EXPECT_TRUE(soon([&] { return testNetLiving(GetParam()) == before; }));
}

INSTANTIATE_TEST_SUITE_P(Versions, NetPluginOf, ::testing::ValuesIn(kTestNetVersions),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST(NetPlugin, TheFirstOfAListThatServesIsTaken) {
  const NetPluginChoice choice =
      chooseNetPlugin({testNetFile(1) + "," + testNetFile(7) + "," + testNetFile(8), ""}, silent());
  ASSERT_TRUE(choice.plugin);
  EXPECT_EQ(choice.plugin->name(), "Test07");
  EXPECT_EQ(chooseNetPlugin({testNetFile(7), "tEST07"}, silent()).plugin, choice.plugin);
}

TEST(NetPlugin, OneOfAnotherNameIsPassedOver) {
  const NetPluginChoice choice =
      chooseNetPlugin({testNetFile(9) + "," + testNetFile(10), "test10"}, silent());
  ASSERT_TRUE(choice.plugin);
  EXPECT_EQ(choice.plugin->name(), "Test10");
  EXPECT_THAT(choice.refused, ::testing::ElementsAre(HasSubstr("libnccl-net-test9.so is called Test09")));
}

TEST(NetPlugin, WithoutALibraryThereIsNone) {
  for (const char* list : {"none", "/nowhere/at-all.so"}) {
    const NetPluginChoice choice = chooseNetPlugin({list, ""}, silent());
    EXPECT_FALSE(choice.plugin);
    EXPECT_TRUE(choice.refused.empty());
  }
}

TEST(NetPlugin, ALibraryWithoutANetworkIsRefused) {
  const NetPluginChoice choice = chooseNetPlugin({"libm.so.6", ""}, silent());
  EXPECT_FALSE(choice.plugin);
  EXPECT_THAT(choice.refused, ::testing::ElementsAre(HasSubstr("libm.so.6 has no ncclNetPlugin_v6")));
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LibraryNames, FollowNcclsRules) {
  EXPECT_THAT(libraryNames(kNetPrefix, ""), ElementsAre("libnccl-net.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "ofi"), ElementsAre("ofi", "libnccl-net-ofi.so"));
  EXPECT_THAT(libraryNames(kTunerPrefix, "ofi"), ElementsAre("ofi", "libnccl-tuner-ofi.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "/opt/a.so"), ElementsAre("/opt/a.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "libmine.so"), ElementsAre("libmine.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "libmine.so.1"),
              ElementsAre("libmine.so.1", "libnccl-net-libmine.so.1.so"));
  EXPECT_THAT(libraryNames(kNetPrefix, "None"), IsEmpty());
  EXPECT_THAT(libraryNames(kNetPrefix, "static_PLUGIN"), ElementsAre(""));
  EXPECT_THAT(libraryNames(kNetPrefix, "STATIC_PLUGIN2"),
              ElementsAre("STATIC_PLUGIN2", "libnccl-net-STATIC_PLUGIN2.so"));
}

TEST(LibraryNames, ListsAreSplitAtCommas) {
  EXPECT_THAT(pluginEntries(""), ElementsAre(""));
  EXPECT_THAT(pluginEntries("a"), ElementsAre("a"));
  EXPECT_THAT(pluginEntries("a,,b/c.so,"), ElementsAre("a", "b/c.so"));
}

}  // namespace
}  // namespace xylem::plugins
