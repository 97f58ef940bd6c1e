// The errors of ranks when others do not come, give up or abort, also while unauthenticated peers connect.

#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <future>
#include <vector>

#include "runtime/bootstrap/job.h"
#include "runtime/bootstrap/wait_tracker.h"
#include "runtime/sockets/handshake.h"
#include "runtime/sockets/socket.h"

namespace xylem::bootstrap {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using testing::loopbackSettings;
using ::testing::StartsWith;

// Ranks of `absent` join, then stay away from `call` until the others have failed.
void runWithAbsent(Job& job, int ranks, const std::vector<int>& absent, const Job::Work& call) {
  std::barrier failed(ranks);
  job.run([&](Bootstrap& bootstrap) {
    const bool stays = std::find(absent.begin(), absent.end(), bootstrap.rank()) != absent.end();
    try {
      if (!stays) call(bootstrap);
    } catch (...) {
      failed.arrive_and_wait();
      throw;
    }
    failed.arrive_and_wait();
  });
}

class Missing : public ::testing::TestWithParam<int> {};

TEST_P(Missing, EveryRankNamesTheSameOnesAndWhereItWaited) {
  const int ranks = GetParam();
  Job job(ranks, 3);  // seconds, for the last to come where many share a core
  runWithAbsent(job, ranks, {3, 5},
                [](Bootstrap& bootstrap) { bootstrap.allGather(1, "the exchange of peers"); });
  for (int r = 0; r < ranks; ++r) {
    if (r == 3 || r == 5) continue;
    EXPECT_THAT(job.error(r), StartsWith("timed out after 3 s in the exchange of peers: ranks 3, 5 have not "
                                         "arrived; ranks 0, 1, 2, 4, "))
        << "rank " << r;
    EXPECT_EQ(job.code(r), ResultCode::kRemoteError);
  }
}

INSTANTIATE_TEST_SUITE_P(RingAndBeyond, Missing, ::testing::Values(7, 8, 9, 20));

TEST(Missing, SomebodyWhoWaitsElsewhereIsNamedWithThePlace) {
  Job job(4, 1);
  runWithAbsent(job, 4, {}, [](Bootstrap& bootstrap) {
    if (bootstrap.rank() == 2)
      bootstrap.receive(1, 7, "the receive of a ticket");
    else
      bootstrap.barrier("the barrier at the end");
  });
  EXPECT_THAT(job.errors(), Each(AnyOf(AllOf(HasSubstr("in the barrier at the end: nobody is missing"),
                                             HasSubstr("rank 2 waits in the receive of a ticket for rank 1")),
                                       AllOf(HasSubstr("in the receive of a ticket"),
                                             HasSubstr("rank 1 waits in the barrier at the end")))));
}

TEST(Missing, InAGroupOnlyItsRanksAreExpected) {
  Job job(6, 1);
  const std::vector<int> group{4, 0, 2};
  runWithAbsent(job, 6, {1, 2, 3, 5}, [&](Bootstrap& bootstrap) { bootstrap.barrierAmong(group, "it"); });
  for (const int r : {0, 4})
    EXPECT_THAT(job.error(r), HasSubstr("in it: rank 2 has not arrived; ranks")) << "rank " << r;
}

TEST(Missing, TheSenderOfAMessage) {
  Job job(3, 1);
  runWithAbsent(job, 3, {0, 2}, [](Bootstrap& bootstrap) { bootstrap.receive(2, 0, "the plan"); });
  EXPECT_EQ(job.error(1), "timed out after 1 s in the plan: rank 2 has not arrived; rank 1 waits there");
}

TEST(Missing, AtOneOfSeveralRoots) {
  Job job(9, 1, 3);
  job.run([](Bootstrap& bootstrap) { bootstrap.barrier(); }, {0, 1, 2, 3, 5, 6, 7, 8});
  for (const int r : {0, 1, 2, 3, 5, 6, 7, 8})
    EXPECT_THAT(job.error(r), HasSubstr("waiting for rank 4 (of 9 ranks)")) << "rank " << r;
}

// Raises the abort flag of rank 0 once rank 0 waits; fails if that does not end its call. `begin` returns shortly before it waits.
void raiseDuring(
    Job& job, const Job::Work& work, std::vector<int> present = {},
    const std::function<void()>& begin = [] {}) {
  std::thread other([&] {
    begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    job.abortFlag(0).raise();
  });
  job.run(work, std::move(present));
  other.join();
  EXPECT_THAT(job.error(0), HasSubstr("rank 0 was told to abort"));
}

TEST(AbortFlag, EndsCheckingIn) {
  Job job(3);
  raiseDuring(job, [](Bootstrap&) {}, {0, 1});
  EXPECT_THAT(job.error(1), HasSubstr("rank 0 was told to abort"));
}

TEST(AbortFlag, EndsWaitingForARootThatIsNotThere) {
  Settings settings = loopbackSettings();
  sockets::SocketAddress nobody;
  {
    const FileDescriptor listener = sockets::listenTcp(sockets::SocketAddress::parse("127.0.0.1:0"));
    nobody = sockets::SocketAddress::boundTo(listener.get());
  }
  settings.set(spec(Setting::kCommId), nobody.text(), "test");
  Job job(1, settings);
  raiseDuring(job, [](Bootstrap&) {});
}

TEST(AbortFlag, EndsACallOnARootThatNeverAnswers) {
  const FileDescriptor silent = sockets::listenTcp(sockets::SocketAddress::parse("127.0.0.1:0"));
  Settings settings = loopbackSettings();
  settings.set(spec(Setting::kCommId), sockets::SocketAddress::boundTo(silent.get()).text(), "test");
  Job job(1, settings);
  raiseDuring(job, [](Bootstrap&) {});
}

TEST(AbortFlag, EndsCallsOfEveryKind) {
  const std::vector<int> pair{0, 1};
  const std::pair<const char*, Job::Work> calls[] = {
      {"barrier", [](Bootstrap& b) { b.barrier("barrier"); }},
      {"gather", [](Bootstrap& b) { b.allGatherBytes({}, 1, "gather"); }},
      {"group", [&](Bootstrap& b) { b.barrierAmong(pair, "group"); }},
      {"split", [&](Bootstrap& b) { b.split(pair, nullptr, "split"); }},
      {"receive", [](Bootstrap& b) { b.receive(1, 0, "receive"); }},
      {"send", [](Bootstrap& b) { b.send(1, 0, std::vector<std::byte>(64 << 20), "send"); }},
      {"check",
       [](Bootstrap& b) {
         for (const Deadline end = Deadline::after(std::chrono::seconds(10)); !end.passed();) b.check();
       }},
  };
  for (const auto& [name, call] : calls) {
    Job job(3);
    std::barrier finished(3);
    std::promise<void> joined;
    const auto work = [&, call = &call](Bootstrap& bootstrap) {
      try {
        if (bootstrap.rank() == 0) {
          joined.set_value();
          (*call)(bootstrap);
        }
        finished.arrive_and_wait();
      } catch (const Error& error) {
        bootstrap.abort(error.what());
        finished.arrive_and_wait();
        throw;
      }
      bootstrap.barrier();
    };
    raiseDuring(job, work, {}, [&] { joined.get_future().wait_for(std::chrono::seconds(20)); });
    EXPECT_EQ(job.error(1), job.error(0)) << name;
    EXPECT_EQ(job.error(2), job.error(0)) << name;
  }
}

TEST(AbortFlag, OfAPartIsItsOwn) {
  Job job(2);
  sockets::AbortFlag flag;
  job.run([&](Bootstrap& whole) {
    const auto part = whole.split(std::vector<int>{0, 1}, &flag);
    whole.barrier();
    if (whole.rank() == 0) flag.raise();
    EXPECT_THROW(part->receive(1 - part->rank(), 0), Error);
    whole.barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Abort, ReachesRanksFarAway) {
  Job job(20);
  job.run([](Bootstrap& bootstrap) {
    bootstrap.barrier();
    if (bootstrap.rank() == 13) throw Error(ResultCode::kInvalidUsage, "rank 13 failed: no topology");
    bootstrap.receive(13, 0);
  });
  EXPECT_THAT(job.errors(), Each(AnyOf("rank 13 failed: no topology", HasSubstr("rank 13 ended"))));
}

TEST(Abort, EveryLaterCallFails) {
  Job job(2);
  std::barrier joined(2);
  job.run([&](Bootstrap& bootstrap) {
    joined.arrive_and_wait();
    bootstrap.abort("enough");
    EXPECT_THROW(bootstrap.barrier(), Error);
    EXPECT_THROW(bootstrap.check(), Error);
    EXPECT_THROW(bootstrap.send(0, 0, {}), Error);
    EXPECT_THROW(bootstrap.receive(0, 0), Error);
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

// Connects and sends `bytes`; the connection stays open until the returned owner is destroyed.
FileDescriptor intrude(const sockets::SocketAddress& address, const void* data, std::size_t bytes) {
  FileDescriptor fd = sockets::startConnect(address, nullptr);
  pollfd wait{fd.get(), POLLOUT, 0};
  poll(&wait, 1, 5000);
  sockets::sendSome(fd.get(), {static_cast<const std::byte*>(data), bytes});
  return fd;
}

TEST(UnauthenticatedPeers, AtARanksOwnDoorDoNotDisturbIt) {
  Job job(10);
  job.run([](Bootstrap& bootstrap) {
    std::vector<FileDescriptor> intruders;
    const auto doors = bootstrap.allGather(bootstrap.address().toWire());
    sockets::Hello hello;
    hello.rank = 1;
    hello.ranks = 10;
    for (const sockets::WireAddress& door : doors) {
      const sockets::SocketAddress address = sockets::SocketAddress::fromWire(door);
      intruders.push_back(intrude(address, "GET / HTTP/1.0\r\n\r\n", 18));
      intruders.push_back(intrude(address, &hello, 0));
      intruders.push_back(intrude(address, &hello, 40));
      intruders.push_back(intrude(address, &hello, sizeof hello));
      intrude(address, &hello, sizeof hello);
    }
    for (int i = 0; i < 5; ++i) bootstrap.barrier();
    const int peer = bootstrap.rank() ^ 1;
    bootstrap.send(peer, 1, {});
    bootstrap.receive(peer, 1);
    bootstrap.split(std::vector<int>{std::min(peer, peer ^ 1), std::max(peer, peer ^ 1)})->barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(UnauthenticatedPeers, ManyAtTheRootAreOnlyComplainedAboutSoOften) {
  Settings settings = loopbackSettings();
  Settings loud;
  loud.set(spec(Setting::kDebug), "WARN", "test");
  // The root may keep the log until the process ends, so these stay open as long.
  static std::vector<std::FILE*> kept;
  std::FILE* const out = kept.emplace_back(std::tmpfile());
  ASSERT_NE(out, nullptr);
  std::string lines;
  {
    const auto log = std::make_shared<const Logger>(loud, kDefaultSubsystems, out);
    const UniqueId id = openRendezvous(settings, log);
    for (int i = 0; i < 100; ++i) intrude(id.address(), "GET / HTTP/1.0\r\n\r\n", 18);
    Bootstrap::join(id, 0, 1, settings, *log);
    std::fflush(out);
    char part[4096];
    for (off_t at = 0;;) {
      const ssize_t n = pread(fileno(out), part, sizeof part, at);
      if (n <= 0) break;
      lines.append(part, static_cast<std::size_t>(n));
      at += n;
    }
  }
  std::size_t count = 0;
  for (std::size_t at = 0; (at = lines.find("dropped a connection", at)) != std::string::npos; ++at) ++count;
  EXPECT_GE(count, 1u);
  EXPECT_LE(count, 20u);
}

TEST(WaitTracker, WhatOneKnowsAnotherLearns) {
  WaitTracker a, b;
  a.note(0, "x", 1);
  b.note(2, "y", 0);
  EXPECT_TRUE(a.merge(b.bytes()));
  EXPECT_FALSE(a.merge(b.bytes()));
  const std::vector<int> all{0, 1, 2};
  EXPECT_EQ(a.report("x", all), "rank 1 has not arrived; rank 0 waits there; rank 2 waits in y for rank 0");
  b.note(2, "x", 0);
  EXPECT_TRUE(a.merge(b.bytes()));
  EXPECT_EQ(a.report("x", all), "rank 1 has not arrived; ranks 0, 2 wait there");
}

TEST(WaitTracker, CutOffBytesAreIgnored) {
  WaitTracker a;
  a.note(0, "somewhere", 1);
  const auto bytes = a.bytes();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    WaitTracker b;
    EXPECT_FALSE(b.merge(std::span(bytes).first(n)));
  }
}

}  // namespace
}  // namespace xylem::bootstrap
