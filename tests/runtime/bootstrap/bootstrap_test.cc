#include "runtime/bootstrap/bootstrap.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include "runtime/bootstrap/job.h"
#include "runtime/sockets/handshake.h"
#include "runtime/sockets/socket.h"
#include "support/sanitizers.h"

namespace xylem::bootstrap {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using testing::loopbackSettings;

TEST(Bootstrap, ATimeOutNamesTheMissingRanks) {
  Job job(5, 1);
  job.run([](Bootstrap&) {}, {0, 2, 4});
  for (const int rank : {0, 2, 4}) {
    EXPECT_THAT(job.errors()[static_cast<std::size_t>(rank)],
                HasSubstr("timed out after 1 s waiting for ranks 1, 3 (of 5 ranks)"));
    EXPECT_EQ(job.code(rank), ResultCode::kRemoteError);
  }
}

TEST(Bootstrap, ATimeOutLaterNamesTheRankThatIsWaitedFor) {
  Job job(3, 1);
  std::barrier finished(3);
  job.run([&](Bootstrap& bootstrap) {
    try {
      if (bootstrap.rank() != 1) bootstrap.allGather(bootstrap.rank());
    } catch (...) {
      finished.arrive_and_wait();
      throw;
    }
    finished.arrive_and_wait();
  });
  EXPECT_THAT(job.errors()[2], AllOf(HasSubstr("timed out"), HasSubstr("rank 1")));
  EXPECT_THAT(job.errors()[0], HasSubstr("timed out"));
}

TEST(Bootstrap, RanksThatContradictEachOtherAreTold) {
  const Job job(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      try {
        Bootstrap::join(job.id(), 0, 2, job.settings(), job.log());
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ResultCode::kInvalidUsage);
        errors[static_cast<std::size_t>(i)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(HasSubstr("two processes say they are rank 0")));
}

TEST(Bootstrap, DifferentNumbersOfRanksAreTold) {
  const Job job(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      try {
        Bootstrap::join(job.id(), i, 2 + i, job.settings(), job.log());
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(i)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("says there are"), HasSubstr("others say"))));
}

TEST(Bootstrap, APeerWithAnotherSecretIsKeptOut) {
  Job job(2);
  sockets::Secret wrong = job.id().secret();
  wrong[31] ^= 1;
  try {
    Bootstrap::join(UniqueId(job.id().address(), wrong), 1, 2, job.settings(), job.log());
    ADD_FAILURE() << "an unauthenticated peer got in";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not know the secret"));
  }
  job.run([](Bootstrap& bootstrap) { bootstrap.barrier(); });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

// Connects to the root and sends `bytes`; the connection stays open until the returned owner is destroyed.
FileDescriptor intrude(const sockets::SocketAddress& root, const std::vector<std::byte>& bytes) {
  FileDescriptor fd = sockets::startConnect(root, nullptr);
  pollfd wait{fd.get(), POLLOUT, 0};
  poll(&wait, 1, 5000);
  sockets::sendSome(fd.get(), bytes);
  return fd;
}

TEST(Bootstrap, GarbageSilenceAndHalfAHelloDoNotDisturbTheJob) {
  Job job(3);
  std::vector<FileDescriptor> intruders;
  const sockets::SocketAddress root = job.id().address();
  const char* http = "GET / HTTP/1.0\r\n\r\n";
  const auto* text = reinterpret_cast<const std::byte*>(http);
  intruders.push_back(intrude(root, {text, text + std::strlen(http)}));
  intruders.push_back(intrude(root, std::vector<std::byte>(100'000, std::byte{0xff})));
  intruders.push_back(intrude(root, {}));
  sockets::Hello hello;
  const auto* start = reinterpret_cast<const std::byte*>(&hello);
  intruders.push_back(intrude(root, {start, start + 40}));            // half a hello, then silence
  intruders.push_back(intrude(root, {start, start + sizeof hello}));  // a whole one, then silence
  intrude(root, {start, start + 20});                                 // closed in the middle
  job.run([](Bootstrap& bootstrap) { bootstrap.barrier(); });
  EXPECT_THAT(job.errors(), Each(IsEmpty()));
}

TEST(Bootstrap, ARankThatGivesUpTellsTheOthersWhy) {
  Job job(4);
  job.run([](Bootstrap& bootstrap) {
    bootstrap.barrier();
    if (bootstrap.rank() == 2) throw Error(ResultCode::kInvalidUsage, "rank 2 failed: no topology");
    bootstrap.allGather(1);
    bootstrap.barrier();
    bootstrap.barrier();
  });
  EXPECT_THAT(job.errors(), Each(HasSubstr("rank 2")));
  EXPECT_THAT(job.errors()[3], "rank 2 failed: no topology");
}

TEST(Bootstrap, ANeighbourThatLeavesIsNoticedWhileLookingElsewhere) {
  Job job(3);
  job.run([&](Bootstrap& bootstrap) {
    bootstrap.barrier();
    if (bootstrap.rank() == 1) return bootstrap.abort("rank 1 left on purpose");
    const Deadline deadline = Deadline::after(std::chrono::seconds(10));
    while (!deadline.passed()) bootstrap.check();
    FAIL() << "nobody noticed";
  });
  EXPECT_EQ(job.errors()[0], "rank 1 left on purpose");
  EXPECT_EQ(job.errors()[2], "rank 1 left on purpose");
}

TEST(Bootstrap, TheRootIsGone) {
  const Settings settings = loopbackSettings();
  const Logger log(settings);
  sockets::SocketAddress nobody;
  {
    const FileDescriptor listener = sockets::listenTcp(sockets::SocketAddress::parse("127.0.0.1:0"));
    nobody = sockets::SocketAddress::boundTo(listener.get());
  }
  const UniqueId id(nobody, sockets::randomSecret());
  try {
    Bootstrap::join(id, 0, 2, settings, log);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kRemoteError);
    EXPECT_THAT(error.what(), HasSubstr("nobody listens at 127.0.0.1"));
  }
}

// The error of a rank that cannot join at this address, given as NCCL_COMM_ID.
std::string joinErrorAt(const sockets::SocketAddress& address) {
  Settings settings = loopbackSettings(1);
  settings.set(spec(Setting::kCommId), address.text(), "test");
  try {
    Bootstrap::join(UniqueId(address, sockets::randomSecret()), 1, 2, settings, Logger(settings));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A socket that listens where a job expects its root.
struct FalseRoot {
  FileDescriptor listener = sockets::listenTcp(sockets::SocketAddress::parse("127.0.0.1:0"));
  sockets::SocketAddress address = sockets::SocketAddress::boundTo(listener.get());

  std::future<std::string> joinError() const {
    return std::async(std::launch::async, [to = address] { return joinErrorAt(to); });
  }
  FileDescriptor taken() const {
    pollfd fd{listener.get(), POLLIN, 0};
    return FileDescriptor(poll(&fd, 1, 20) > 0 ? accept(listener.get(), nullptr, nullptr) : -1);
  }
};

TEST(Bootstrap, UnreachableRootsAreToldApart) {
  FalseRoot web, proxy, mute, filtered;
  // A port that no other program gets, without a listener.
  const FileDescriptor silent(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback), 0);
  ASSERT_EQ(listen(mute.listener.get(), 1), 0);
  // Once its queue is full, the system drops packets, as a firewall does.
  ASSERT_EQ(listen(filtered.listener.get(), 0), 0);
  std::vector<FileDescriptor> queued;
  for (int i = 0; i < 4; ++i) queued.push_back(sockets::startConnect(filtered.address, nullptr));

  auto webError = web.joinError(), proxyError = proxy.joinError(), muteError = mute.joinError(),
       filteredError = filtered.joinError();
  auto nobodyError = std::async(
      std::launch::async, [to = sockets::SocketAddress::boundTo(silent.get())] { return joinErrorAt(to); });
  std::vector<FileDescriptor> browsers;
  while (proxyError.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    proxy.taken();  // and closed at once
    const FileDescriptor& browser = browsers.emplace_back(web.taken());
    const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n" + std::string(200, ' ');
    if (browser) send(browser.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  EXPECT_THAT(webError.get(), HasSubstr("no root of this job but another job or another program"));
  EXPECT_THAT(proxyError.get(), HasSubstr("closes connections without a word, as a proxy"));
  EXPECT_THAT(muteError.get(), HasSubstr("takes connections and says nothing"));
  EXPECT_THAT(filteredError.get(), HasSubstr("nothing answers there"));
  EXPECT_THAT(nobodyError.get(), AllOf(HasSubstr("timed out after 1 s connecting to the root at 127.0.0.1"),
                                       HasSubstr("connection refused"), HasSubstr("NCCL_COMM_ID")));
}

TEST(Bootstrap, TheRootTellsTheLogWhoIsMissing) {
  // Closed last, when the root's thread no longer writes to it.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::tmpfile(), &std::fclose);
  ASSERT_NE(out, nullptr);
  Settings settings = loopbackSettings();
  settings.set(spec(Setting::kDebug), "WARN", "test");
  const auto log = std::make_shared<const Logger>(settings, kDefaultSubsystems, out.get());
  const sockets::Secret secret = sockets::randomSecret();
  Root root(sockets::SocketAddress::parse("127.0.0.1:0"), secret, std::chrono::seconds(20), log,
            {std::chrono::milliseconds(10), std::chrono::milliseconds(10)});
  root.start();
  const UniqueId id(root.address(), secret);
  sockets::AbortFlag abort;
  std::thread rank([&] {
    try {
      Bootstrap::join(id, 1, 4, settings, *log, &abort);
    } catch (const Error&) {
    }
  });
  const auto logged = [&] {
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(pread(fileno(out.get()), text.data(), text.size(), 0), 0)));
    return text;
  };
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  // Twice: the log hears of it again.
  const std::string text = "ranks 0, 2, 3 of 4 have not checked in";
  while (logged().find(text, logged().find(text) + 1) == std::string::npos && !deadline.passed())
    poll(nullptr, 0, 10);
  EXPECT_THAT(logged(), AllOf(HasSubstr(text), HasSubstr("are the processes of those ranks running")));
  abort.raise();
  rank.join();
}

TEST(Bootstrap, RanksMeetAtNcclCommId) {
  // A port that was free a moment ago.
  sockets::SocketAddress address;
  {
    const FileDescriptor listener = sockets::listenTcp(sockets::SocketAddress::parse("127.0.0.1:0"));
    address = sockets::SocketAddress::boundTo(listener.get());
  }
  Settings settings = loopbackSettings();
  settings.set(spec(Setting::kCommId), address.text(), "test");
  const auto log = std::make_shared<const Logger>(Settings());
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (int rank = 2; rank >= 0; --rank)
    threads.emplace_back([&, rank] {
      try {
        const UniqueId id = openRendezvous(settings, log);
        if (rank == 0) hostCommId(id, settings, log);
        Bootstrap::join(id, rank, 3, settings, *log)->barrier();
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
    const auto bootstrap = Bootstrap::join(job.id(), rank, ranks, job.settings(), log);
    for (;;) pause();
  } catch (...) {
  }
  _exit(1);
}

constexpr const char* kNoForks =
    "the thread sanitizer cannot follow a fork of a process with threads, and the root is one";

// A program makes an id, forks and its child ends by exit(). A thread of the child takes the memory of the root's.
TEST(Bootstrap, AChildOfForkHasNoRootToEnd) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << kNoForks;
  if (testing::kAddressSanitizer) GTEST_SKIP() << "the child looks for leaks, and finds its parent's";
  const Settings settings = loopbackSettings();
  openRendezvous(settings, std::make_shared<Logger>(settings));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    std::thread([] {}).join();
    std::exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Bootstrap, AKilledProcessIsNamed) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << kNoForks;
  Job job(3);
  const pid_t child = startRank(job, 1, 3);
  ASSERT_GT(child, 0);
  std::thread killer;
  job.run(
      [&](Bootstrap& bootstrap) {
        if (bootstrap.rank() == 0) killer = std::thread([child] { kill(child, SIGKILL); });
        bootstrap.barrier();
      },
      {0, 2});
  if (killer.joinable()) killer.join();
  waitpid(child, nullptr, 0);
  EXPECT_THAT(job.errors()[0], HasSubstr("rank 1"));
  EXPECT_THAT(job.errors()[2], HasSubstr("rank 1"));
  EXPECT_EQ(job.code(0), ResultCode::kRemoteError);
}

TEST(Bootstrap, AProcessKilledWhileOthersAreMissingIsNamedAtOnce) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << kNoForks;
  Job job(3);
  const pid_t child = startRank(job, 1, 3);
  ASSERT_GT(child, 0);
  std::thread killer([child] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, SIGKILL);
  });
  job.run([](Bootstrap&) {}, {0});  // rank 2 never comes
  killer.join();
  waitpid(child, nullptr, 0);
  EXPECT_THAT(job.errors()[0], HasSubstr("rank 1 ended"));
}

}  // namespace
}  // namespace xylem::bootstrap
