// The address of the rendezvous: interfaces, address families, NCCL_COMM_ID and XYLEM_SECRET.

#include <gmock/gmock.h>

#include "runtime/bootstrap/job.h"
#include "runtime/sockets/interfaces.h"
#include "runtime/sockets/socket.h"
#include "support/free_address.h"

namespace xylem::bootstrap {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using testing::freeAddress;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using testing::loopbackSettings;

Settings with(Settings settings, Setting setting, const std::string& value) {
  settings.set(spec(setting), value, "test");
  return settings;
}

bool hasAddress(int family, bool linkLocal, std::string* name = nullptr) {
  for (const sockets::Interface& interface : sockets::listInterfaces())
    if (interface.address.family() == family && interface.address.linkLocal() == linkLocal &&
        (!linkLocal || !interface.address.loopback())) {
      if (name != nullptr) *name = interface.name;
      return true;
    }
  return false;
}

void meetAndTalk(Bootstrap& bootstrap) {
  bootstrap.barrier();
  const std::vector<int> all{0, 1, 2};
  bootstrap.split(all)->barrier();
}

TEST(Families, Ipv6) {
  if (!hasAddress(AF_INET6, false)) GTEST_SKIP() << "this machine has no IPv6";
  Job job(3, with(loopbackSettings(), Setting::kSocketFamily, "AF_INET6"));
  EXPECT_EQ(job.id().address().family(), AF_INET6);
  job.run([](Bootstrap& bootstrap) {
    EXPECT_EQ(bootstrap.address().family(), AF_INET6);
    meetAndTalk(bootstrap);
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Families, RanksFollowTheRoot) {
  if (!hasAddress(AF_INET6, false)) GTEST_SKIP() << "this machine has no IPv6";
  const auto log = std::make_shared<const Logger>(Settings());
  const UniqueId id = openRendezvous(with(loopbackSettings(), Setting::kSocketFamily, "AF_INET6"), log);
  const auto alone = Bootstrap::join(id, 0, 1, loopbackSettings(), *log);
  EXPECT_EQ(alone->address().family(), AF_INET6);
}

TEST(Families, LinkLocalAddressesNeedTheirLink) {
  std::string name;
  if (!hasAddress(AF_INET6, true, &name)) GTEST_SKIP() << "no interface has a link-local address";
  Settings settings = loopbackSettings();
  std::string text;
  for (const sockets::Interface& interface : sockets::listInterfaces())
    if (interface.address.linkLocal() && interface.name == name) text = interface.address.text();
  const std::string host = text.substr(0, text.rfind(':'));  // "[fe80::1%eth0]"
  EXPECT_THAT(host, HasSubstr("%" + name));
  const sockets::SocketAddress address = freeAddress(host);
  EXPECT_NE(address.scope(), 0u);
  // The scope travels with the address, but is not valid on the other host.
  const FileDescriptor listener = sockets::listenTcp(address);
  sockets::SocketAddress there = sockets::SocketAddress::boundTo(listener.get());
  there.setScope(there.scope() + 100);
  const FileDescriptor caller = sockets::startConnect(there, &address);
  pollfd wait{caller.get(), POLLOUT, 0};
  poll(&wait, 1, 5000);
  EXPECT_EQ(sockets::connectOutcome(caller.get()), 0);
  EXPECT_EQ(sockets::SocketAddress::boundTo(caller.get()).scope(), address.scope());
}

void runByCommId(const std::string& commId, const Settings& base, int ranks, const std::string& expected) {
  const Settings settings = with(base, Setting::kCommId, commId);
  const auto log = std::make_shared<const Logger>(Settings());
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = ranks - 1; rank >= 0; --rank)
    threads.emplace_back([&, rank] {
      try {
        const UniqueId id = openRendezvous(settings, log);
        if (rank == 0) hostCommId(id, settings, log);
        const auto job = Bootstrap::join(id, rank, ranks, settings, *log);
        EXPECT_THAT(job->interface().text(), HasSubstr(expected));
        job->barrier();
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(IsEmpty())) << commId;
}

TEST(CommId, TheInterfaceIsTheOneThatReachesTheRoot) {
  Settings settings;
  settings.set(spec(Setting::kTimeout), "20", "test");
  runByCommId(freeAddress("127.0.0.1").text(), settings, 3, "127.0.0.1");
}

TEST(CommId, MayBeANameOrAnIpv6Address) {
  runByCommId(fmt::format("localhost:{}", freeAddress("127.0.0.1").port()),
              with(loopbackSettings(), Setting::kSocketFamily, "AF_INET"), 2, "127.0.0.1");
  if (hasAddress(AF_INET6, false)) runByCommId(freeAddress("[::1]").text(), loopbackSettings(), 2, "[::1]");
}

TEST(CommId, LinkLocal) {
  std::string name;
  if (!hasAddress(AF_INET6, true, &name)) GTEST_SKIP() << "no interface has a link-local address";
  for (const sockets::Interface& interface : sockets::listInterfaces()) {
    if (!interface.address.linkLocal()) continue;
    const std::string text = interface.address.text();
    Settings settings;
    settings.set(spec(Setting::kTimeout), "20", "test");
    return runByCommId(freeAddress(text.substr(0, text.rfind(':'))).text(), settings, 3, "fe80");
  }
}

TEST(CommId, WhoDoesNotHaveTheSecretStaysOut) {
  const Settings without = with(loopbackSettings(), Setting::kCommId, freeAddress("127.0.0.1").text());
  const Settings settings = with(without, Setting::kSecret, "correct horse");
  const auto log = std::make_shared<const Logger>(Settings());
  const UniqueId id = openRendezvous(settings, log);
  hostCommId(id, settings, log);
  for (const Settings& other : {without, with(settings, Setting::kSecret, "battery staple")}) {
    const UniqueId theirs = openRendezvous(other, log);
    EXPECT_EQ(theirs.address().text(), id.address().text());
    try {
      Bootstrap::join(theirs, 0, 1, other, *log);
      ADD_FAILURE() << "an unauthenticated peer got in";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("does not know the secret"));
    }
  }
  EXPECT_NO_THROW(Bootstrap::join(id, 0, 1, settings, *log));
}

TEST(Calls, GoOutFromTheInterfaceThatWasChosen) {
  for (const sockets::Interface& interface : sockets::listInterfaces()) {
    if (interface.address.linkLocal()) continue;
    const FileDescriptor listener = sockets::listenTcp(interface.address);
    const sockets::SocketAddress there = sockets::SocketAddress::boundTo(listener.get());
    const FileDescriptor caller = sockets::startConnect(there, &interface.address);
    EXPECT_TRUE(sockets::SocketAddress::boundTo(caller.get()).sameHostAs(interface.address));
    // An interface that cannot reach the address is not used.
    for (const sockets::Interface& other : sockets::listInterfaces()) {
      if (other.address.loopback() == interface.address.loopback()) continue;
      const FileDescriptor free = sockets::startConnect(there, &other.address);
      pollfd wait{free.get(), POLLOUT, 0};
      poll(&wait, 1, 5000);
      EXPECT_EQ(sockets::connectOutcome(free.get()), 0) << other.name << " to " << there.text();
    }
  }
}

TEST(Jobs, SeveralIdsMakeOneSecret) {
  const sockets::SocketAddress anywhere = sockets::SocketAddress::parse("127.0.0.1:1");
  const UniqueId a(anywhere, sockets::randomSecret()), b(anywhere, sockets::randomSecret());
  const auto secretOf = [](std::vector<UniqueId> ids) { return jobSecret(ids); };
  EXPECT_EQ(secretOf({a, b}), secretOf({a, b}));
  EXPECT_NE(secretOf({a, b}), secretOf({b, a}));
  EXPECT_NE(secretOf({a, b}), secretOf({a}));
  EXPECT_NE(secretOf({a}), a.secret());
}

TEST(Jobs, IdsInAnotherOrderAreNoticed) {
  Job job(2, 2, 2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<UniqueId> ids = job.ids();
      if (rank == 1) std::swap(ids[0], ids[1]);
      try {
        Bootstrap::join(ids, rank, 2, job.settings(), job.log());
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  // A rank that comes late finds that the others have given up.
  EXPECT_THAT(errors, Each(AnyOf(HasSubstr("same ids in the same order"), HasSubstr("does not know"),
                                 HasSubstr("have failed or finished without this one"))));
}

}  // namespace
}  // namespace xylem::bootstrap
