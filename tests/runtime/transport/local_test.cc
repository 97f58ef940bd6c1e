// Tests of the transports within a host: unauthenticated connections, and access to shared memory.

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "core/address_space.h"
#include "core/shareable_memory.h"
#include "ranks.h"
#include "runtime/sockets/handshake.h"
#include "runtime/transport/local/huge_pages.h"
#include "runtime/transport/local/local_transport.h"
#include "runtime/transport/local/readable_memory.h"
#include "runtime/transport/session/unix_socket.h"
#include "support/small_pages.h"

namespace xylem::transport {
namespace {

using ::testing::HasSubstr;

// Two ranks of this process, driven by one thread.
struct Pair {
  explicit Pair(const sockets::Secret& first, const sockets::Secret& second) {
    for (int r = 0; r < 2; ++r) {
      sessions[r] = std::make_shared<PeerSessions>(
          SessionOptions{.rank = r, .secret = r == 0 ? first : second}, silentLog());
      transports.push_back(std::make_unique<P2pTransport>(sessions[r], 1 << 20, CopyChoices()));
      peers[r].rank = r;
      transports.back()->announce(peers[r]);
    }
  }
  void connect(std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    for (int r = 0; r < 2; ++r)
      connections.push_back(transports[static_cast<std::size_t>(r)]->open(
          {.peer = 1 - r, .sends = {0}, .receives = {0}}, peers[1 - r]));
    Connection* both[] = {connections[0].get(), connections[1].get()};
    connectAll(both, {Deadline::after(patience), {}});
  }
  std::shared_ptr<PeerSessions> sessions[2];
  Peer peers[2];
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Connection>> connections;
};

TEST(Local, UnauthenticatedPeersHoldNobodyUp) {
  const sockets::Secret secret = sockets::randomSecret();
  Pair pair(secret, secret);
  std::vector<FileDescriptor> unauthenticated;
  for (int i = 0; i < 50; ++i) {
    unauthenticated.push_back(connectLocal(pair.peers[1].local));  // never sends
    FileDescriptor garbage = connectLocal(pair.peers[1].local);
    const std::string text(static_cast<std::size_t>(1 + i * 7), 'x');
    sendMessage(garbage.get(), text.data(), text.size());
    if (i % 2 == 0) unauthenticated.push_back(std::move(garbage));
    sockets::Hello hello;  // a valid hello from a process that does not know the secret
    hello.purpose = sockets::Purpose::kSession;
    hello.rank = 0;
    FileDescriptor liar = connectLocal(pair.peers[1].local);
    sendMessage(liar.get(), &hello, sizeof hello);
    unauthenticated.push_back(std::move(liar));
  }
  pair.connect();
  const std::uint64_t value = 5;
  std::uint64_t out = 0;
  ASSERT_TRUE(
      pair.connections[0]->sender(0).send(Protocol::kLl, reinterpret_cast<const std::byte*>(&value), 8));
  ASSERT_TRUE(pair.connections[1]->receiver(0).take(Protocol::kLl, reinterpret_cast<std::byte*>(&out), 8));
  EXPECT_EQ(out, 5u);
}

TEST(Local, RanksOfAnotherJobAreUnauthenticated) {
  Pair pair(sockets::randomSecret(), sockets::randomSecret());
  try {
    pair.connect();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kRemoteError);
    EXPECT_THAT(error.what(), HasSubstr("cannot connect to rank 1: it does not know the secret of this job"));
  }
}

TEST(Local, SaysWhoseListenerIsGone) {
  const sockets::Secret secret = sockets::randomSecret();
  Pair pair(secret, secret);
  pair.transports.pop_back();
  pair.sessions[1].reset();
  const auto connection = pair.transports[0]->open({.peer = 1, .sends = {0}, .receives = {0}}, pair.peers[1]);
  try {
    connection->advance();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot connect to rank 1"));
  }
}

TEST(Local, P2pAndShmShareOneSession) {
  const sockets::Secret secret = sockets::randomSecret();
  Pair pair(secret, secret);
  std::vector<std::unique_ptr<Transport>> shm;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<Connection*> all;
  for (int r = 0; r < 2; ++r) {
    shm.push_back(std::make_unique<ShmTransport>(pair.sessions[r], 1 << 20));
    shm.back()->announce(pair.peers[r]);
  }
  for (int r = 0; r < 2; ++r) {
    const ConnectionRequest request{.peer = 1 - r, .sends = {0}, .receives = {0}};
    connections.push_back(shm[static_cast<std::size_t>(r)]->open(request, pair.peers[1 - r]));
    connections.push_back(pair.transports[static_cast<std::size_t>(r)]->open(request, pair.peers[1 - r]));
  }
  for (const auto& connection : connections) all.push_back(connection.get());
  connectAll(all, {Deadline::after(std::chrono::seconds(20)), {}});
  EXPECT_EQ(connections[0]->via(QueueUse::kSend, 0), "SHM/direct/direct");
  EXPECT_EQ(connections[1]->via(QueueUse::kSend, 0), "P2P/direct pointer");
}

TEST(Local, InOneProcessTheReaderLooksAtTheWritersMemory) {
  const sockets::Secret secret = sockets::randomSecret();
  Pair pair(secret, secret);
  pair.connect();
  const std::vector<std::byte> data = pattern(100000, 1);
  ASSERT_TRUE(pair.connections[0]->sender(0).share(Protocol::kSimple, data.data(), data.size()));
  EXPECT_EQ(pair.connections[1]->receiver(0).peek(Protocol::kSimple, data.size()), data.data());
  EXPECT_FALSE(pair.connections[0]->sender(0).drained());
  pair.connections[1]->receiver(0).release(Protocol::kSimple);
  EXPECT_TRUE(pair.connections[0]->sender(0).drained());
}

TEST(Local, MemoryOutlivesThePeerThatMadeIt) {
  const sockets::Secret secret = sockets::randomSecret();
  Pair pair(secret, secret);
  pair.connect();
  pair.connections[1].reset();
  const std::uint64_t value = 5;
  EXPECT_TRUE(
      pair.connections[0]->sender(0).send(Protocol::kSimple, reinterpret_cast<const std::byte*>(&value), 8));
}

// The writer changes the memory after it has sent a note of it: a reader that made a copy does not see the
// change.
void seesChanges(bool shareable, bool expected) {
  runRanks(
      makerOf("P2P"), Hosting::kProcesses, 2,
      [&](TestRank& rank) {
        const auto connections = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
        check(connections[0]->via(QueueUse::kSend, 0) == "P2P/IPC", connections[0]->via(QueueUse::kSend, 0));
        SendEnd& out = connections[0]->sender(0);
        RecvEnd& in = connections[0]->receiver(0);
        constexpr std::size_t kBytes = 64 << 10;
        std::vector<std::byte> plain(kBytes);
        const auto wait = [&](std::uint64_t expectedValue) {
          std::uint64_t value = 0;
          await([&] { return in.take(Protocol::kLl, reinterpret_cast<std::byte*>(&value), 8); }, "a word");
          check(value == expectedValue, "the word");
        };
        const auto say = [&](std::uint64_t value) {
          await([&] { return out.send(Protocol::kLl, reinterpret_cast<const std::byte*>(&value), 8); },
                "a free slot");
        };
        if (rank.rank == 0) {
          std::byte* buffer =
              shareable ? static_cast<std::byte*>(ShareableMemory::allocate(kBytes)) : plain.data();
          std::memset(buffer, 1, kBytes);
          check(out.share(Protocol::kSimple, buffer, kBytes), "a free slot");
          std::memset(buffer, 2, kBytes);
          say(1);
          wait(2);
          check(out.drained(), "drained");
          return;
        }
        await([&] { return in.peek(Protocol::kSimple, kBytes) != nullptr; }, "a step");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const std::byte* data = in.peek(Protocol::kSimple, kBytes);
        const bool changed = data[kBytes - 1] == std::byte{2};
        in.release(Protocol::kSimple);
        wait(1);
        say(2);
        check(changed == expected, changed ? "saw the change" : "saw a copy");
      },
      {.bufferBytes = 1 << 20});
}

TEST(Local, MemoryOfShareableMemoryIsMappedByThePeer) { seesChanges(true, true); }

// Rank 0 sends rank 1 a long message. The sender writes into memory that is mapped; and, through the kernel, where the receiver reads so, too.
void copyByBoth(TestRank& rank, bool fromShareable, bool toShareable) {
  constexpr std::size_t kBytes = 900000;
  const auto connections = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
  Connection& connection = *connections[0];
  if (!connection.memory().peerReads() && !fromShareable) return;  // the kernel does not permit it here
  const std::vector<std::byte> data = pattern(kBytes, 3);
  std::vector<std::byte> plain(kBytes);
  const bool isShareable = rank.rank == 0 ? fromShareable : toShareable;
  std::byte* const buffer =
      isShareable ? static_cast<std::byte*>(ShareableMemory::allocate(kBytes)) : plain.data();
  if (rank.rank == 0) {
    SendEnd& out = connection.sender(0);
    std::memcpy(buffer, data.data(), kBytes);
    check(out.sendPiece(Protocol::kSimple, buffer, kBytes, kBytes, true) == kBytes, "one piece");
    await([&] { return out.drained() || (out.help() > 0 && out.drained()); }, "the reader");
    return;
  }
  RecvEnd& in = connection.receiver(0);
  std::size_t taken = 0;
  const auto take = [&] {
    const std::size_t bytes = in.takePiece(Protocol::kSimple, buffer + taken, kBytes - taken);
    taken += bytes;
    return bytes > 0;
  };
  const bool isOffered = toShareable || !fromShareable;
  await(take, "the first part");
  check(taken >= kBytes / 2 && (taken < kBytes) == isOffered, std::to_string(taken));
  if (isOffered) await([&] { return in.control().written.load() > 0; }, "the writer");
  while (taken < kBytes) await(take, "the rest");
  check(std::memcmp(buffer, data.data(), kBytes) == 0, "the data");
}

TEST(Local, TheSenderOfALongMessageCopiesAPartOfIt) {
  for (const bool fromShareable : {false, true})
    for (const bool toShareable : {false, true})
      runRanks(makerOf("P2PCrossMemory"), Hosting::kProcesses, 2,
               [&](TestRank& rank) { copyByBoth(rank, fromShareable, toShareable); },
               {.bufferBytes = 1 << 20});
}

TEST(Local, ReadsFromAProcessThatEndedNameTheRank) {
  runRanks(
      makerOf("P2P"), Hosting::kProcesses, 2,
      [&](TestRank& rank) {
        auto connections = rank.connect({{.peer = 1 - rank.rank, .sends = {0}, .receives = {0}}});
        const std::vector<std::byte> data = pattern(64 << 10, 3);
        if (rank.rank == 1) {
          check(connections[0]->sender(0).share(Protocol::kSimple, data.data(), data.size()), "a free slot");
          return;
        }
        awaitNews(*connections[0]);
        std::vector<std::byte> out(data.size());
        try {
          // Succeeds if the data was copied, or is read before the process is gone.
          await([&] { return connections[0]->receiver(0).take(Protocol::kSimple, out.data(), out.size()); },
                "it");
        } catch (const Error& error) {
          check(error.code() == ResultCode::kRemoteError, "the code");
          check(std::strstr(error.what(), "rank 1") != nullptr, error.what());
        }
      },
      {.bufferBytes = 1 << 20});
}

// Sends the descriptor twice with one message.
void sendTwice(int socket, int fd) {
  char letter = 'x';
  iovec part{&letter, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof fd);
  const int both[] = {fd, fd};
  std::memcpy(CMSG_DATA(header), both, sizeof both);
  ASSERT_EQ(sendmsg(socket, &message, 0), 1);
}

TEST(Local, ADescriptorThatNobodyExpectsDoesNotStayOpen) {
  if (std::getenv("QEMU_LD_PREFIX") != nullptr)
    GTEST_SKIP() << "the emulator keeps such a descriptor open itself";
  int sockets[2], ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor peer(sockets[0]), ours(sockets[1]), out(ends[0]);
  FileDescriptor in(ends[1]);
  sendTwice(peer.get(), in.get());
  in.reset();
  char letter = 0;
  std::optional<ReceivedMessage> received = receiveMessage(ours.get(), &letter, 1);
  ASSERT_TRUE(received);
  EXPECT_TRUE(received->fd);
  received.reset();
  pollfd hangUp{out.get(), POLLIN, 0};
  EXPECT_EQ(poll(&hangUp, 1, 0), 1);
  EXPECT_TRUE(hangUp.revents & POLLHUP) << "somebody still has the other end";
}

// As many as a process may open may be on their way. That passes.
TEST(LocalSockets, AreFullWhenTheUserHasTooManyDescriptorsUnderWay) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) != 0) _exit(1);
    const rlimit limit{16, 16};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(2);
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(3);  // root has no such limit
    const int number = 7;
    const auto send = [&] { return sendMessage(ends[0], &number, sizeof number, ends[0]); };
    int sent = 0;
    SendOutcome outcome = SendOutcome::kSent;
    while (sent < 100 && (outcome = send()) == SendOutcome::kSent) ++sent;
    if (outcome != SendOutcome::kFull || sent < 16) _exit(4);
    int received = 0;
    for (int i = 0; i < sent; ++i) receiveMessage(ends[1], &received, sizeof received);
    _exit(send() == SendOutcome::kSent ? 0 : 5);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -status, 0);
}

// Huge pages of a kernel that answers as the test wants, and of a clock that each answer takes 2 ms by.
struct HugePagesJob {
  int answer = 0;
  std::chrono::steady_clock::time_point now{std::chrono::hours(1)};
  std::vector<std::size_t> asked;  // the numbers of pages
  HugePages pages{[this](std::byte* page) {
                    asked.push_back(reinterpret_cast<std::uintptr_t>(page) / kHugePage);
                    now += std::chrono::milliseconds(2);
                    return answer;
                  },
                  [this] { return now; }};

  // Reads bytes at this offset some times. Returns the pages that the kernel was asked for in the last one.
  std::vector<std::size_t> read(std::size_t at, std::size_t bytes, std::uint32_t times = 1) {
    for (std::uint32_t i = 0; i < times; ++i) {
      asked.clear();
      const bool tookLong = pages.othersWillUse(reinterpret_cast<const std::byte*>(at), bytes);
      EXPECT_EQ(tookLong, !asked.empty());
    }
    return asked;
  }
};
using Pages = std::vector<std::size_t>;

TEST(HugePages, AreAskedForWholeOnesInsideOfWhatIsOftenRead) {
  HugePagesJob job;
  EXPECT_EQ(job.read(kHugePage - 1, 2 * kHugePage + 1, HugePages::kOften - 1), Pages());
  EXPECT_EQ(job.read(kHugePage - 1, 2 * kHugePage + 1), (Pages{1, 2}));
  EXPECT_EQ(job.read(kHugePage - 1, 2 * kHugePage + 1, HugePages::kAgain - 1), Pages());
  EXPECT_EQ(job.read(kHugePage - 1, 2 * kHugePage + 1), (Pages{1, 2})) << "it may be other memory by now";
  EXPECT_EQ(job.read(5 * kHugePage + 1, 2 * kHugePage - 2, 3 * HugePages::kOften), Pages()) << "no whole one";
  EXPECT_EQ(job.read(9 * kHugePage, 100, 3 * HugePages::kOften), Pages());
}

TEST(HugePages, TakeLittleTimeEach) {
  HugePagesJob job;
  EXPECT_EQ(job.read(0, 8 * kHugePage, HugePages::kOften), (Pages{0, 1, 2})) << "2 ms each, of 5";
  EXPECT_EQ(job.read(0, 8 * kHugePage), (Pages{3, 4, 5}));
  EXPECT_EQ(job.read(0, 8 * kHugePage), (Pages{6, 7}));
  EXPECT_EQ(job.read(0, 8 * kHugePage), Pages());
}

TEST(HugePages, AreAskedForMoreSeldomWhereTheyAreNotPossible) {
  HugePagesJob job;
  job.answer = EAGAIN;
  std::vector<std::uint32_t> when;
  for (std::uint32_t reads = 1; reads <= 300; ++reads)
    if (!job.read(0, kHugePage).empty()) when.push_back(reads);
  EXPECT_EQ(when, (std::vector<std::uint32_t>{16, 32, 64, 128, 256}));
}

TEST(HugePages, AreLeftAloneForAWhileWhereTheMachineHasNone) {
  for (const int error : {ENOMEM, EBUSY}) {
    HugePagesJob job;
    job.answer = error;
    EXPECT_EQ(job.read(0, 4 * kHugePage, HugePages::kOften), (Pages{0}));
    EXPECT_EQ(job.read(0, 4 * kHugePage, 1000), Pages());
    job.now += HugePages::kPause;
    job.answer = 0;
    EXPECT_EQ(job.read(0, 4 * kHugePage), (Pages{0, 1, 2}));
  }
}

TEST(HugePages, DoNothingWhereTheyAreNotPermitted) {
  HugePages pages{HugePages::Collapse()};
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(pages.othersWillUse(reinterpret_cast<const std::byte*>(kHugePage), kHugePage));
}

// Buffers in turn that have more pages together than are counted.
TEST(HugePages, CountALimitedNumber) {
  HugePagesJob job;
  constexpr std::size_t kMuch = 20000 * kHugePage;
  EXPECT_EQ(job.read(0, kMuch, HugePages::kOften).size(), 3U);
  for (std::size_t i = 1; i <= 50; ++i)
    EXPECT_EQ(job.read(i % 2 * 2 * kMuch, kMuch), Pages()) << "what was known is forgotten";
}

TEST(HugePages, HoldTheSameData) {
  using testing::SmallPages;
  if (!SmallPages::mayBecomeHuge()) GTEST_SKIP() << "no huge pages here";
  const SmallPages memory(2 * kHugePage);
  for (std::uint32_t i = 0; i < 4 * HugePages::kOften; ++i)
    HugePages::ofProcess().othersWillUse(memory.data(), 2 * kHugePage);
  EXPECT_GT(memory.hugeBytes(), 0U);
  EXPECT_EQ(std::count(memory.data(), memory.data() + 2 * kHugePage, std::byte{1}),
            static_cast<std::ptrdiff_t>(2 * kHugePage));
}

// As others would read it: the kernel does not read for them what cannot be read, nor memory of devices.
TEST(ReadableMemory, IsThatWhichTheKernelReads) {
  constexpr std::size_t kPage = 4096;
  void* const mapped = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const data = static_cast<std::byte*>(mapped);
  ASSERT_EQ(mprotect(data + kPage, kPage, PROT_NONE), 0);
  ReadableMemory readable;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(readable.holds(data, kPage));
    EXPECT_FALSE(readable.holds(data, kPage + 1)) << "the last byte counts";
    EXPECT_FALSE(readable.holds(data + kPage, 2 * kPage)) << "and the first one";
    EXPECT_TRUE(readable.holds(data + 2 * kPage, kPage));
    EXPECT_TRUE(readable.holds(nullptr, 0));
  }
  // Parts of what could be read are known, beside each other and over each other, and are not tried again.
  EXPECT_TRUE(readable.holds(data + 100, 200));
  EXPECT_TRUE(readable.holds(data + 2 * kPage + 1, kPage - 1));
  ASSERT_EQ(mprotect(mapped, 3 * kPage, PROT_NONE), 0);
  EXPECT_TRUE(readable.holds(data + 50, kPage - 50));
  EXPECT_TRUE(readable.holds(data + 2 * kPage, kPage));
  EXPECT_FALSE(readable.holds(data + kPage, kPage));
  // Memory that could not be read is tried again.
  ASSERT_EQ(mprotect(mapped, 3 * kPage, PROT_READ), 0);
  EXPECT_TRUE(readable.holds(data + kPage, kPage));
  ASSERT_EQ(mprotect(mapped, 3 * kPage, PROT_NONE), 0);
  EXPECT_TRUE(readable.holds(data, 3 * kPage)) << "three stretches that touch are one";
  munmap(mapped, 3 * kPage);
}

// In any order: what is known is exactly what was tried.
TEST(ReadableMemory, KnowsWhatWasTriedAndNoMore) {
  constexpr std::size_t kPage = 4096, kPages = 64;
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    void* const mapped = mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const data = static_cast<std::byte*>(mapped);
    ReadableMemory readable;
    std::array<bool, kPages> tried{};
    for (int i = 0; i < 20; ++i) {
      const std::size_t page = random() % kPages,
                        pages = 1 + random() % std::min<std::size_t>(4, kPages - page);
      EXPECT_TRUE(readable.holds(data + page * kPage, pages * kPage));
      std::fill_n(tried.begin() + static_cast<std::ptrdiff_t>(page), pages, true);
    }
    ASSERT_EQ(mprotect(mapped, kPages * kPage, PROT_NONE), 0);
    for (std::size_t page = 0; page < kPages; ++page)
      EXPECT_EQ(readable.holds(data + page * kPage, kPage), tried[page]) << page;
    munmap(mapped, kPages * kPage);
  }
}

TEST(ReadableMemory, KnowsALimitedNumberOfStretches) {
  constexpr std::size_t kPage = 4096, kPages = 1000;
  void* const mapped = mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const data = static_cast<std::byte*>(mapped);
  ReadableMemory readable;
  for (std::size_t page = 0; page < kPages; page += 2)
    EXPECT_TRUE(readable.holds(data + page * kPage, kPage));
  ASSERT_EQ(mprotect(mapped, kPages * kPage, PROT_NONE), 0);
  EXPECT_FALSE(readable.holds(data, kPage));
  EXPECT_TRUE(readable.holds(data + (kPages - 2) * kPage, kPage));
  munmap(mapped, kPages * kPage);
}

TEST(ReadableMemory, TriesMuchMemoryEachTime) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  void* const mapped = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const data = static_cast<std::byte*>(mapped);
  ReadableMemory readable;
  EXPECT_TRUE(readable.holds(data, kBytes));
  ASSERT_EQ(mprotect(mapped, kBytes, PROT_NONE), 0);
  EXPECT_FALSE(readable.holds(data, kBytes));
  EXPECT_TRUE(readable.holds(data, kBytes - 1));
  munmap(mapped, kBytes);
}

TEST(SharedMemory, BothMappingsShowTheSameBytes) {
  const SharedMemory mine = SharedMemory::create("test", 10000);
  EXPECT_EQ(mine.size(), 10000u);
  EXPECT_EQ(mine.data()[9999], std::byte{0});
  const SharedMemory theirs = SharedMemory::open(FileDescriptor(dup(mine.fd())), 10000);
  mine.data()[1234] = std::byte{42};
  EXPECT_EQ(theirs.data()[1234], std::byte{42});
}

TEST(SharedMemory, StaysWhenItsMakerIsGone) {
  SharedMemory mine = SharedMemory::create("test", 4096);
  SharedMemory theirs = SharedMemory::open(FileDescriptor(dup(mine.fd())), 4096);
  mine.data()[0] = std::byte{7};
  mine = SharedMemory();
  EXPECT_EQ(theirs.data()[0], std::byte{7});
}

TEST(SharedMemory, CannotShrinkUnderAMapping) {
  const SharedMemory mine = SharedMemory::create("test", 4096);
  EXPECT_EQ(ftruncate(mine.fd(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, RefusesMemoryThatIsTooSmallOrCouldShrink) {
  const SharedMemory mine = SharedMemory::create("test", 4096);
  EXPECT_THROW(SharedMemory::open(FileDescriptor(dup(mine.fd())), 8192), Error);
  FileDescriptor loose(memfd_create("loose", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(loose.get(), 8192), 0);
  EXPECT_THROW(SharedMemory::open(std::move(loose), 8192), Error);
}

}  // namespace
}  // namespace xylem::transport
