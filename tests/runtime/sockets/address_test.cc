// Addresses, interfaces and ids.

#include <gmock/gmock.h>

#include <cstring>

#include "core/error.h"
#include "runtime/bootstrap/rank_list.h"
#include "runtime/bootstrap/unique_id.h"
#include "runtime/sockets/interfaces.h"

namespace xylem::sockets {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SocketAddress, ReadsAndWritesBothFamilies) {
  EXPECT_EQ(SocketAddress::parse("127.0.0.1:80").text(), "127.0.0.1:80");
  EXPECT_EQ(SocketAddress::parse("[::1]:65535").text(), "[::1]:65535");
  EXPECT_EQ(SocketAddress::parse("localhost:7", AF_INET).family(), AF_INET);
  EXPECT_EQ(SocketAddress::parse("127.0.0.1:80").logText(), "127.0.0.1<80>");
  EXPECT_EQ(SocketAddress::parse("[::1]:65535").logText(), "::1<65535>");
}

TEST(SocketAddress, RefusesWhatIsNone) {
  for (const char* text : {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536",
                           "127.0.0.1:-1", "[::1:80", "1.2.3.4:99999999999999"})
    EXPECT_THROW(SocketAddress::parse(text), Error) << text;
}

TEST(SocketAddress, TravelsAsBytes) {
  for (const char* text : {"10.1.2.3:4567", "[2001:db8::1]:99"})
    EXPECT_EQ(SocketAddress::fromWire(SocketAddress::parse(text).toWire()).text(), text);
  EXPECT_THROW(SocketAddress::fromWire(WireAddress{}), Error);
}

std::vector<Interface> machine() {
  return {{"lo", SocketAddress::parse("127.0.0.1:0")},
          {"docker0", SocketAddress::parse("172.17.0.1:0")},
          {"eth0", SocketAddress::parse("[fe80::1]:0")},
          {"eth0", SocketAddress::parse("[2001:db8::7]:0")},
          {"eth1", SocketAddress::parse("10.0.0.1:0")}};
}

std::string chosen(std::vector<Interface> interfaces, const std::string& names,
                   const std::string& family = "") {
  Settings settings;
  settings.set(spec(Setting::kSocketIfname), names, "test");
  settings.set(spec(Setting::kSocketFamily), family, "test");
  const Interface interface = chooseInterface(interfaces, settings);
  return interface.name + " " + interface.address.text();
}

TEST(Interfaces, PreferredLikeNccl) {
  EXPECT_EQ(chosen(machine(), ""), "eth0 [2001:db8::7]:0") << "not one that is valid on its link only";
  EXPECT_EQ(chosen(machine(), "", "AF_INET"), "eth1 10.0.0.1:0");
  EXPECT_EQ(chosen(machine(), "docker"), "docker0 172.17.0.1:0");
  EXPECT_EQ(chosen(machine(), "^eth"), "lo 127.0.0.1:0");
  EXPECT_EQ(chosen({machine()[0], machine()[1]}, ""), "docker0 172.17.0.1:0");
  EXPECT_EQ(chosen({machine()[0]}, ""), "lo 127.0.0.1:0");
  auto withIb = machine();
  withIb.push_back({"ib0", SocketAddress::parse("10.9.9.9:0")});
  EXPECT_EQ(chosen(withIb, ""), "ib0 10.9.9.9:0");
}

TEST(Interfaces, ListsOfWholeNamesMayExclude) {
  EXPECT_EQ(chosen(machine(), "^=eth0,lo"), "docker0 172.17.0.1:0");
  EXPECT_EQ(chosen(machine(), "^=eth,lo,docker0", "AF_INET"), "eth1 10.0.0.1:0");
  EXPECT_EQ(chosen(machine(), "=eth1"), "eth1 10.0.0.1:0");
}

TEST(Interfaces, FollowTheFamilyOfTheRoot) {
  const SocketAddress four = SocketAddress::parse("10.0.0.9:1");
  EXPECT_EQ(chooseInterface(machine(), Settings(), &four).name, "eth1");
  const SocketAddress six = SocketAddress::parse("[2001:db8::9]:1");
  EXPECT_EQ(chooseInterface(machine(), Settings(), &six).address.text(), "[2001:db8::7]:0");
  // The user's choice comes first, even if the root cannot be reached that way.
  Settings settings;
  settings.set(spec(Setting::kSocketFamily), "AF_INET", "test");
  EXPECT_EQ(chooseInterface(machine(), settings, &six).name, "eth1");
}

TEST(Interfaces, TheWayToTheLoopbackIsTheLoopback) {
  EXPECT_EQ(localAddressTowards(SocketAddress::parse("127.0.0.1:9")).text(), "127.0.0.1:0");
}

TEST(Interfaces, SayWhatThereIsIfNothingFits) {
  try {
    chosen(machine(), "wlan");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
    EXPECT_THAT(error.what(), HasSubstr("eth1 10.0.0.1:0"));
  }
  EXPECT_THROW(chosen(machine(), "", "AF_UNIX"), Error);
}

TEST(Interfaces, WarnOfAChosenLoopback) {
  const std::vector<Interface> all = {{"lo", SocketAddress::parse("127.0.0.1:0")},
                                      {"eth0", SocketAddress::parse("10.0.0.1:0")}};
  const auto warning = [&](const std::string& list) {
    const Settings settings = Settings::fromPairs({{"NCCL_SOCKET_IFNAME", list}});
    return loopbackWarning(all, settings, chooseInterface(all, settings));
  };
  EXPECT_EQ(warning("^veth,docker"),
            "NCCL_SOCKET_IFNAME=^veth,docker (settings) selects the loopback interface lo, over which no other host is "
            "reached; there are: eth0; NCCL_SOCKET_IFNAME=^veth,docker,lo leaves it out, too");
  EXPECT_NE(warning("=lo"), "");
  EXPECT_EQ(warning("^veth,docker,lo"), "");
  EXPECT_EQ(warning("=eth0"), "");
  EXPECT_EQ(warning(""), "");
  const std::vector<Interface> alone(all.begin(), all.begin() + 1);
  EXPECT_EQ(loopbackWarning(alone, Settings::fromPairs({{"NCCL_SOCKET_IFNAME", "lo"}}), alone[0]), "");
}

TEST(Interfaces, ThisMachineHasOne) { EXPECT_FALSE(listInterfaces().empty()); }

TEST(UniqueId, TravelsAsBytes) {
  const bootstrap::UniqueId id(SocketAddress::parse("10.1.2.3:4567"), randomSecret());
  const auto bytes = id.bytes();
  const bootstrap::UniqueId again = bootstrap::UniqueId::fromBytes(bytes.data());
  EXPECT_EQ(again.address().text(), "10.1.2.3:4567");
  EXPECT_EQ(again.secret(), id.secret());
  EXPECT_EQ(again.fingerprint(), id.fingerprint());
}

TEST(UniqueId, RefusesBytesThatAreNone) {
  const bootstrap::UniqueId id(SocketAddress::parse("10.1.2.3:4567"), randomSecret());
  auto bytes = id.bytes();
  bytes[40] ^= std::byte{1};
  EXPECT_THROW(bootstrap::UniqueId::fromBytes(bytes.data()), Error);
  const std::array<std::byte, bootstrap::UniqueId::kBytes> zeros{};
  EXPECT_THROW(bootstrap::UniqueId::fromBytes(zeros.data()), Error);
}

TEST(UniqueId, SecretsDiffer) { EXPECT_NE(randomSecret(), randomSecret()); }

TEST(UniqueId, EveryRankMakesTheSameOneOfNcclCommId) {
  const bootstrap::UniqueId a = bootstrap::UniqueId::fromCommId("127.0.0.1:9999", AF_UNSPEC);
  const bootstrap::UniqueId b = bootstrap::UniqueId::fromCommId("127.0.0.1:9999", AF_UNSPEC);
  EXPECT_EQ(a.bytes(), b.bytes());
  EXPECT_NE(a.secret(), bootstrap::UniqueId::fromCommId("127.0.0.1:9998", AF_UNSPEC).secret());
  EXPECT_THROW(bootstrap::UniqueId::fromCommId("127.0.0.1:0", AF_UNSPEC), Error);
  const bootstrap::UniqueId secret = bootstrap::UniqueId::fromCommId("127.0.0.1:9999", AF_UNSPEC, "password");
  EXPECT_NE(a.secret(), secret.secret());
  EXPECT_EQ(secret.secret(),
            bootstrap::UniqueId::fromCommId("127.0.0.1:9999", AF_UNSPEC, "password").secret());
}

TEST(RankList, IsCutOff) {
  EXPECT_EQ(bootstrap::ranksNamed({2, 5}), "ranks 2, 5");
  EXPECT_EQ(bootstrap::ranksNamed({2}), "rank 2");
  std::vector<int> many(100);
  EXPECT_THAT(bootstrap::ranksNamed(many), HasSubstr("and 68 more"));
  EXPECT_THAT(bootstrap::ranksNamed(std::vector<int>(32)), Not(HasSubstr("more")));
}

}  // namespace
}  // namespace xylem::sockets
