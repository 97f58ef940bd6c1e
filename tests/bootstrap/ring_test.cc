#include "bootstrap/ring.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <barrier>
#include <cstring>

#include "bootstrap/handshake.h"
#include "bootstrap/job.h"
#include "bootstrap/socket.h"

namespace xylem {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using testing::loopbackSettings;

class RingOf : public ::testing::TestWithParam<int> {};

TEST_P(RingOf, GathersFromEveryRankInOrder) {
  Job job(GetParam());
  job.run([](Ring& ring) {
    const std::vector<int> all = ring.allGather(ring.rank() * ring.rank());
    ASSERT_EQ(all.size(), static_cast<std::size_t>(ring.ranks()));
    for (int r = 0; r < ring.ranks(); ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], r * r);
    ring.barrier();
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST_P(RingOf, GathersBytesOfDifferentLengths) {
  Job job(GetParam());
  job.run([](Ring& ring) {
    // Up to more than the kernel's socket buffers hold: sending and receiving have to overlap.
    const auto bytesOf = [](int rank) { return static_cast<std::size_t>(rank) * 300'000; };
    const std::vector<std::byte> mine(bytesOf(ring.rank()), static_cast<std::byte>(ring.rank()));
    const auto all = ring.allGatherBytes(mine, std::size_t{8} << 20);
    for (int r = 0; r < ring.ranks(); ++r) {
      const auto& block = all[static_cast<std::size_t>(r)];
      ASSERT_EQ(block.size(), bytesOf(r));
      EXPECT_TRUE(block.empty() || block.back() == static_cast<std::byte>(r));
    }
  });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingOf, ::testing::Values(1, 2, 3, 8));

TEST(Ring, RefusesMoreBytesThanAllowed) {
  Job job(2);
  job.run([](Ring& ring) { ring.allGatherBytes(std::vector<std::byte>(ring.rank() == 0 ? 1000 : 10), 100); });
  EXPECT_THAT(job.errors()[0], HasSubstr("1000"));
  EXPECT_FALSE(job.errors()[1].empty());
}

TEST(Ring, ATimeOutNamesTheMissingRanks) {
  Job job(5, 1);
  job.run([](Ring&) {}, {0, 2, 4});
  for (const int rank : {0, 2, 4}) {
    EXPECT_THAT(job.errors()[static_cast<std::size_t>(rank)],
                HasSubstr("timed out after 1 s waiting for ranks 1, 3 of 5"));
    EXPECT_EQ(job.code(rank), ResultCode::kRemoteError);
  }
}

TEST(Ring, ATimeOutLaterNamesTheRankThatIsWaitedFor) {
  Job job(3, 1);
  std::barrier finished(3);
  job.run([&](Ring& ring) {
    try {
      if (ring.rank() != 1) ring.allGather(ring.rank());
    } catch (...) {
      finished.arrive_and_wait();
      throw;
    }
    finished.arrive_and_wait();
  });
  EXPECT_THAT(job.errors()[2], AllOf(HasSubstr("timed out"), HasSubstr("rank 1")));
  EXPECT_THAT(job.errors()[0], HasSubstr("timed out"));
}

TEST(Ring, RanksThatContradictEachOtherAreTold) {
  const Job job(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      try {
        Ring::join(job.id(), 0, 2, job.settings(), job.log());
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
        errors[static_cast<std::size_t>(i)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(HasSubstr("two processes say they are rank 0")));
}

TEST(Ring, DifferentNumbersOfRanksAreTold) {
  const Job job(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      try {
        Ring::join(job.id(), i, 2 + i, job.settings(), job.log());
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(i)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("says there are"), HasSubstr("others say"))));
}

TEST(Ring, AStrangerWithAnotherSecretIsKeptOut) {
  Job job(2);
  Secret wrong = job.id().secret();
  wrong[31] ^= 1;
  try {
    Ring::join(UniqueId(job.id().address(), wrong), 1, 2, job.settings(), job.log());
    ADD_FAILURE() << "a stranger got in";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not know the secret"));
  }
  job.run([](Ring& ring) { ring.barrier(); });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

// Connects to the root and sends `bytes`; the connection stays open until the returned owner goes.
FileDescriptor intrude(const SocketAddress& root, const std::vector<std::byte>& bytes) {
  FileDescriptor fd = startConnect(root, nullptr);
  pollfd wait{fd.get(), POLLOUT, 0};
  poll(&wait, 1, 5000);
  sendSome(fd.get(), bytes);
  return fd;
}

TEST(Ring, GarbageSilenceAndHalfAHelloDoNotDisturbTheJob) {
  Job job(3);
  std::vector<FileDescriptor> strangers;
  const SocketAddress root = job.id().address();
  const char* http = "GET / HTTP/1.0\r\n\r\n";
  const auto* text = reinterpret_cast<const std::byte*>(http);
  strangers.push_back(intrude(root, {text, text + std::strlen(http)}));
  strangers.push_back(intrude(root, std::vector<std::byte>(100'000, std::byte{0xff})));
  strangers.push_back(intrude(root, {}));
  Hello hello;
  const auto* start = reinterpret_cast<const std::byte*>(&hello);
  strangers.push_back(intrude(root, {start, start + 40}));            // half a hello, then silence
  strangers.push_back(intrude(root, {start, start + sizeof hello}));  // a whole one, then silence
  intrude(root, {start, start + 20});                                 // closed in the middle
  job.run([](Ring& ring) { ring.barrier(); });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Ring, ARankThatGivesUpTellsTheOthersWhy) {
  Job job(4);
  job.run([](Ring& ring) {
    ring.barrier();
    if (ring.rank() == 2) throw Error(ResultCode::kInvalidUsage, "rank 2 failed: no topology");
    ring.allGather(1);
    ring.barrier();
    ring.barrier();
  });
  EXPECT_THAT(job.errors(), Each(HasSubstr("rank 2")));
  EXPECT_THAT(job.errors()[3], "rank 2 failed: no topology");
}

TEST(Ring, ANeighbourThatLeavesIsNoticedWhileLookingElsewhere) {
  Job job(3);
  job.run([&](Ring& ring) {
    ring.barrier();
    if (ring.rank() == 1) return ring.abort("rank 1 left on purpose");
    const Deadline deadline = Deadline::after(std::chrono::seconds(10));
    while (!deadline.passed()) ring.check();
    FAIL() << "nobody noticed";
  });
  EXPECT_EQ(job.errors()[0], "rank 1 left on purpose");
  EXPECT_EQ(job.errors()[2], "rank 1 left on purpose");
}

TEST(Ring, TheRootIsGone) {
  const Settings settings = loopbackSettings();
  const Logger log(settings);
  SocketAddress nobody;
  {
    const FileDescriptor listener = listenTcp(SocketAddress::parse("127.0.0.1:0"));
    nobody = SocketAddress::boundTo(listener.get());
  }
  const UniqueId id(nobody, randomSecret());
  try {
    Ring::join(id, 0, 2, settings, log);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kRemoteError);
    EXPECT_THAT(error.what(), HasSubstr("nobody listens at 127.0.0.1"));
  }
}

TEST(Ring, RanksMeetAtNcclCommId) {
  // A port that was free a moment ago.
  SocketAddress address;
  {
    const FileDescriptor listener = listenTcp(SocketAddress::parse("127.0.0.1:0"));
    address = SocketAddress::boundTo(listener.get());
  }
  Settings settings = loopbackSettings();
  settings.set(spec(Setting::kCommId), address.text(), "test");
  const auto log = std::make_shared<const Logger>(Settings());
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (int rank = 2; rank >= 0; --rank)
    threads.emplace_back([&, rank] {
      try {
        const UniqueId id = openMeeting(settings, log);
        if (rank == 0) hostCommId(id, settings, log);
        Ring::join(id, rank, 3, settings, *log)->barrier();
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// A rank as a process that joins and then does nothing until it is killed.
pid_t startRank(const Job& job, int rank, int ranks) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    const Logger log{Settings()};
    const auto ring = Ring::join(job.id(), rank, ranks, job.settings(), log);
    for (;;) pause();
  } catch (...) {
  }
  _exit(1);
}

// Sanitizers that follow threads cannot follow a fork of a process with threads, and the root is one.
#if !defined(__SANITIZE_THREAD__)
TEST(Ring, AKilledProcessIsNamed) {
  Job job(3);
  const pid_t child = startRank(job, 1, 3);
  ASSERT_GT(child, 0);
  std::thread killer;
  job.run(
      [&](Ring& ring) {
        if (ring.rank() == 0) killer = std::thread([child] { kill(child, SIGKILL); });
        ring.barrier();
      },
      {0, 2});
  if (killer.joinable()) killer.join();
  waitpid(child, nullptr, 0);
  EXPECT_THAT(job.errors()[0], HasSubstr("rank 1"));
  EXPECT_THAT(job.errors()[2], HasSubstr("rank 1"));
  EXPECT_EQ(job.code(0), ResultCode::kRemoteError);
}

TEST(Ring, AProcessKilledWhileOthersAreMissingIsNamedAtOnce) {
  Job job(3);
  const pid_t child = startRank(job, 1, 3);
  ASSERT_GT(child, 0);
  std::thread killer([child] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, SIGKILL);
  });
  job.run([](Ring&) {}, {0});  // rank 2 never comes
  killer.join();
  waitpid(child, nullptr, 0);
  EXPECT_THAT(job.errors()[0], HasSubstr("rank 1 ended"));
}
#endif

}  // namespace
}  // namespace xylem
