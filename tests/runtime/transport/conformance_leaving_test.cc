// Tests of all transports: peers that leave, give up, are killed or never come.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <thread>

#include "conformance.h"
#include "support/shared_memory_files.h"

namespace xylem::transport {
namespace {

using std::chrono::milliseconds;

// A flag that all ranks see, whether they are threads or processes.
class SharedFlag {
 public:
  SharedFlag()
      : flag_(static_cast<std::atomic<bool>*>(mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (flag_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedFlag() { munmap(flag_, sizeof(std::atomic<bool>)); }
  SharedFlag(const SharedFlag&) = delete;
  SharedFlag& operator=(const SharedFlag&) = delete;

  void raise() const { flag_->store(true); }
  void awaitRaised() const {
    await([this] { return flag_->load(); }, "the flag of the other rank");
  }

 private:
  std::atomic<bool>* flag_;
};

TEST_P(Conformance, ALeaveIsNewsAndWhatWasSentStays) {
  run(2, [](TestRank& rank) {
    auto connections = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
    if (rank.rank == 0) {
      check(connections[0]->news().state == PeerState::kThere, "it is there");
      put(connections[0]->sender(0), 7);
      take(connections[0]->receiver(0));
      return;
    }
    check(take(connections[0]->receiver(0)) == 7, "the step");
    put(connections[0]->sender(0), 8);
    check(awaitNews(*connections[0]).state == PeerState::kClosed, "the goodbye");
  });
}

TEST_P(Conformance, AnAbortCarriesItsReason) {
  run(2, [](TestRank& rank) {
    auto connections = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
    if (rank.rank == 0) {
      take(connections[0]->receiver(0));  // the other is connected, too
      connections[0]->abort(5, "rank 5 is gone");
      return;
    }
    put(connections[0]->sender(0), 1);
    const PeerNews news = awaitNews(*connections[0]);
    check(news.state == PeerState::kAborted && news.failedRank == 5 && news.text == "rank 5 is gone",
          news.text);
    check(connections[0]->news().state == PeerState::kAborted, "it stays aborted");
  });
}

// A rank that is not connected yet learns of an abort, too.
TEST_P(Conformance, AnAbortReachesWhoWaitsToBeConnected) {
  const SharedFlag heard;
  run(2, [&heard](TestRank& rank) {
    if (rank.rank == 1) {
      std::this_thread::sleep_for(milliseconds(20));  // sometimes before the other connects, sometimes after
      rank.transport->sessions().abort(5, "rank 5 is gone");
      return heard.awaitRaised();
    }
    const std::string text = messageOf([&] { rank.connect({{.peer = 1, .sends = {0}, .receives = {0}}}); });
    heard.raise();
    check(contains(text, "rank 5 is gone"), text);
  });
}

// The abort may come before the waiting rank opens its own connection, or after that.
TEST_P(Conformance, AnAbortReachesWhoWaitsToBeCalled) {
  for (const auto when : {milliseconds(0), kConnectDelay + milliseconds(100)}) {
    const SharedFlag heard;
    run(2, [when, &heard](TestRank& rank) {
      if (rank.rank == 0) {
        std::this_thread::sleep_for(when);
        rank.transport->sessions().abort(5, "rank 5 is gone");
        return heard.awaitRaised();
      }
      const std::string text = messageOf([&] { rank.connect({{.peer = 0, .sends = {0}, .receives = {0}}}); });
      heard.raise();
      check(contains(text, "rank 0 gave up") && contains(text, "rank 5 is gone"), text);
    });
  }
}

TEST_P(Conformance, WhoWaitsToBeCalledHearsThatThePeerHasLeft) {
  run(2, [](TestRank& rank) {
    if (rank.rank == 0) return rank.transport.reset();
    const std::string text = messageOf([&] { rank.connect({{.peer = 0, .sends = {0}, .receives = {0}}}); });
    check(contains(text, "rank 0") && !contains(text, "timed out"), text);
  });
}

TEST_P(Conformance, AKnockIsForgottenOnceTheCallComes) {
  run(2, [](TestRank& rank) {
    if (rank.rank == 0) std::this_thread::sleep_for(kConnectDelay + milliseconds(200));
    const auto there = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
    put(there[0]->sender(0), 7);
    check(take(there[0]->receiver(0)) == 7, "a step");
    check(there[0]->news().state != PeerState::kAborted, "no abort");
  });
}

TEST_P(Conformance, GivesUpAtTheDeadlineAndNamesWhoIsMissing) {
  run(4, [](TestRank& rank) {
    if (rank.rank < 2) {  // never connect, but live until the others have given up
      std::this_thread::sleep_for(milliseconds(600));
      return;
    }
    const auto request = [](int peer) {
      return ConnectionRequest{.peer = peer, .sends = {0}, .receives = {0}};
    };
    if (rank.rank == 3) {
      const auto there = rank.connect({request(2)});
      put(there[0]->sender(0), 1);
      take(there[0]->receiver(0));
      return;
    }
    const auto there = rank.connect({request(3)});
    const std::string text = messageOf([&] { rank.connect({request(0), request(1)}, milliseconds(100)); });
    check(contains(text, "ranks 0, 1"), text);
    put(there[0]->sender(0), 1);
    take(there[0]->receiver(0));
  });
}

TEST_P(Conformance, LooksAtTheRestOfTheWorldWhileItWaits) {
  run(2, [](TestRank& rank) {
    if (rank.rank == 0) return;
    const auto look = [] { throw Error(ResultCode::kRemoteError, "rank 0 died elsewhere"); };
    const std::string text = messageOf(
        [&] { rank.connect({{.peer = 0, .sends = {0}, .receives = {0}}}, std::chrono::seconds(20), look); });
    check(contains(text, "rank 0 died elsewhere"), text);
  });
}

class ConformanceOfProcesses : public Conformance {};

TEST_P(ConformanceOfProcesses, NoticesThatAPeerWasKilled) {
  const int before = testing::sharedMemoryFiles();
  run(2,
      [](TestRank& rank) {
        const auto connections = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
        SendEnd& out = connections[0]->sender(0);
        RecvEnd& in = connections[0]->receiver(0);
        if (rank.rank == 1)
          for (;;) {
            const std::uint64_t value = take(in);
            put(out, value + 1);
            if (value == 99) {
              take(in);
              kill(getpid(), SIGKILL);
            }
          }
        for (std::uint64_t i = 0; i < 100; ++i) {
          put(out, i);
          check(take(in) == i + 1, "the answer");
        }
        check(connections[0]->news().state == PeerState::kThere, "it is there");
        put(out, 100);
        check(awaitNews(*connections[0]).state == PeerState::kLost, "it is lost");
      },
      {.victim = 1});
  EXPECT_EQ(testing::sharedMemoryFiles(), before);
}

TEST_P(ConformanceOfProcesses, NoticesThatAPeerWasKilledWhileConnecting) {
  run(2,
      [](TestRank& rank) {
        const ConnectionRequest request{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}};
        if (rank.rank == 0) {
          const auto connection = rank.open(request);
          for (int i = 0; i < 10 && !connection->advance(); ++i)
            std::this_thread::sleep_for(milliseconds(10));
          kill(getpid(), SIGKILL);
        }
        // The other rank may have handed over its memory before it was killed: then the connection reports
        // the loss.
        std::string text = "rank 0 is lost";
        try {
          std::this_thread::sleep_for(milliseconds(50));
          const auto connections = rank.connect({request});
          check(awaitNews(*connections[0]).state == PeerState::kLost, "it is lost");
        } catch (const Error& error) {
          text = error.what();
        }
        check(contains(text, "rank 0"), text);
      },
      {.victim = 0});
}

INSTANTIATE_TEST_SUITE_P(Transports, ConformanceOfProcesses,
                         ::testing::Combine(::testing::ValuesIn(allMakers()),
                                            ::testing::Values(Hosting::kProcesses)),
                         caseName);
INSTANTIATE_TEST_SUITE_P(Hosts, ConformanceOfProcesses,
                         ::testing::Combine(::testing::ValuesIn(hostMakers()),
                                            ::testing::Values(Hosting::kProcesses)),
                         caseName);

}  // namespace
}  // namespace xylem::transport
