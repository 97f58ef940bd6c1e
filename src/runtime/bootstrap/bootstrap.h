#pragma once
// One rank's membership in a job: ranks find each other and exchange control messages, such as who they are,
// what hardware they have and where to connect. No call waits longer than XYLEM_TIMEOUT.
//
//   auto bootstrap = Bootstrap::join(ids, rank, ranks, settings, log, &abortFlag);
//   std::vector<PeerInfo> peers = bootstrap->allGather(mine, "the exchange of peers");
//   bootstrap->send(3, kTag, bytes);                      // rank 3: bootstrap->receive(me, kTag)
//   auto half = bootstrap->split(evenRanks);              // a Bootstrap for those ranks only
//
// All ranks are connected in a ring. Any other two ranks are connected when they first send to each other.
// All connections are authenticated. There is no thread: connections make progress inside the calls, so the
// first `send` to a peer returns only once the peer is in a call of its own Bootstrap. One thread at a time
// may use a Bootstrap; others may raise the abort flag.
//
// A rank that fails tells all ranks that it is connected to, and they pass it on; the neighbours notice a
// rank that dies. Either way every call of every rank ends with an Error that names the failed rank. Each
// call has a name, `what`: on a time-out, the waiting ranks tell each other where they wait, and the error
// lists the ranks that are missing.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/deadline.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/bootstrap/peer_links.h"
#include "runtime/bootstrap/unique_id.h"
#include "runtime/bootstrap/wait_tracker.h"
#include "runtime/sockets/abort_flag.h"

namespace xylem::bootstrap {

class Bootstrap {
 public:
  // Told when a rank begins to wait in a call, and for which rank (-1: no rank in particular), and with an
  // empty text when it goes on.
  using OnWait = std::function<void(std::string_view what, int peer)>;

  // Returns when every rank is connected. All ranks pass the same ids in the same order; several ids spread
  // the ranks over their roots. `log` and `abort` must outlive the Bootstrap and those that are split from
  // it.
  static std::unique_ptr<Bootstrap> join(std::span<const UniqueId> ids, int rank, int ranks,
                                         const Settings& settings, const Logger& log,
                                         const sockets::AbortFlag* abort = nullptr, OnWait onWait = {});
  static std::unique_ptr<Bootstrap> join(const UniqueId& id, int rank, int ranks, const Settings& settings,
                                         const Logger& log, const sockets::AbortFlag* abort = nullptr) {
    return join(std::span(&id, 1), rank, ranks, settings, log, abort);
  }
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // The secret of this job, for further connections between its ranks.
  const sockets::Secret& secret() const { return secret_; }
  // The address where this rank listens, and that of the interface that all connections use.
  const sockets::SocketAddress& address() const { return links_.address(); }
  const sockets::SocketAddress& interface() const { return links_.interface(); }
  // Where another rank listens; no address while that is not known.
  sockets::SocketAddress addressOf(int rank) const {
    if (rank == rank_) return address();
    return links_.knows(rank) ? links_.addressOf(rank) : sockets::SocketAddress();
  }

  // Returns one trivially copyable value from each rank, in the order of ranks.
  template <typename T>
  std::vector<T> allGather(const T& mine, const char* what = "an all-gather") {
    return allGatherAmong(allRanks_, mine, what);
  }
  // Returns the bytes of each rank, at most `limit` bytes each; their lengths may differ.
  std::vector<std::vector<std::byte>> allGatherBytes(std::span<const std::byte> mine, std::size_t limit,
                                                     const char* what = "an all-gather of bytes") {
    return allGatherBytesAmong(allRanks_, mine, limit, what);
  }
  void barrier(const char* what = "a barrier") { allGather(char{0}, what); }

  // The same among some ranks: each of them, and no other, calls with the same list, which contains it. The
  // results are in the order of the list. Calls with different lists do not disturb each other.
  template <typename T>
  std::vector<T> allGatherAmong(std::span<const int> members, const T& mine,
                                const char* what = "an all-gather among some ranks") {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(members.size());
    all[indexAmong(members)] = mine;
    gatherBlocks(members, std::as_writable_bytes(std::span(all)), sizeof(T), what);
    return all;
  }
  std::vector<std::vector<std::byte>> allGatherBytesAmong(std::span<const int> members,
                                                          std::span<const std::byte> mine, std::size_t limit,
                                                          const char* what);
  // The same, but only the first member gets the result; the others get an empty one.
  std::vector<std::vector<std::byte>> gatherBytesAmong(std::span<const int> members,
                                                       std::span<const std::byte> mine, std::size_t limit,
                                                       const char* what);
  void barrierAmong(std::span<const int> members, const char* what = "a barrier among some ranks") {
    allGatherAmong(members, char{0}, what);
  }
  void intraHostBarrier(std::span<const int> ranksOfMyHost, const char* what = "a barrier on one host") {
    barrierAmong(ranksOfMyHost, what);
  }

  // Messages between any two ranks; a rank may also send to itself. Messages of one tag arrive in order.
  // `send` returns when the operating system has taken all bytes. A message has at most kMaxFrameBytes bytes.
  void send(int peer, std::uint64_t tag, std::span<const std::byte> bytes, const char* what = "a send");
  std::vector<std::byte> receive(int peer, std::uint64_t tag, const char* what = "a receive");

  // Returns a Bootstrap of `members` only, which become ranks 0, 1, ... in the order of the list. Each member
  // calls this, and no other rank does. The result has its own connections and secret and may outlive this
  // Bootstrap. It uses this one's abort flag if `abort` is null.
  std::unique_ptr<Bootstrap> split(std::span<const int> members, const sockets::AbortFlag* abort = nullptr,
                                   const char* what = "a split");

  // Throws if another rank has given up or a neighbour in the ring is gone; otherwise returns at once. For
  // callers that wait for something else.
  void check();
  // Makes every call that waits run `check` several times a second, with the name of the call. `check` may
  // throw to end the call.
  void alsoCheck(std::function<void(const char* what)> check);
  // Calls `onWait` for every wait from now on; no function if it is empty.
  void tellWaits(OnWait onWait) { onWait_ = std::move(onWait); }
  // For callers that see a rank vanish: that rank may have ended because another one failed first. Waits a
  // moment for other ranks to say so, and throws what they say.
  void awaitReason();
  // Tells the other ranks why this one gives up. Every later call fails on all ranks; on the others with
  // ncclInvalidUsage if that is `code`, otherwise with ncclRemoteError.
  void abort(std::string_view reason, ResultCode code = ResultCode::kRemoteError) noexcept;

 private:
  struct Phase {
    const char* what;
    std::span<const int> members;  // the ranks that take part
    Deadline deadline;
  };
  Bootstrap(int rank, int ranks, const sockets::SocketAddress& interface, const sockets::Secret& secret,
            std::chrono::seconds timeout, const Logger& log, const sockets::AbortFlag* abort);
  friend class Joiner;

  Phase phase(const char* what) const { return {what, allRanks_, Deadline::after(timeout_)}; }
  // Waits until done() returns true. Throws if `peer` ends meanwhile; -1: no particular rank.
  void await(const Phase& phase, int peer, const std::function<bool()>& done);
  // Throws if another rank has given up, the abort flag is raised, or alsoCheck_ throws.
  void throwIfOver();
  void pollAlso(std::vector<pollfd> fds);
  void hear(int peer, sockets::Frame& frame);
  void addOwnWait();
  void spreadWaits();
  [[noreturn]] void timedOut(const Phase& phase, int peer);
  Error ended(int rank, const char* what) const;

  void connectNeighbours(const Phase& phase);
  void learnAddresses(const Phase& phase);

  // runtime/bootstrap/gather.cc
  static constexpr std::size_t kAnyBytes = static_cast<std::size_t>(-1);
  std::size_t indexAmong(std::span<const int> members) const;
  std::uint64_t groupOf(std::span<const int> members) const;
  void sendPart(int peer, std::uint64_t tag, std::span<const std::byte> bytes);
  std::vector<std::byte> receivePart(const Phase& phase, int peer, std::uint64_t tag, std::size_t bytes);
  enum class Receivers { kAll, kFirst };
  std::vector<std::byte> gather(const Phase& phase, std::span<const std::byte> mine, std::size_t each,
                                Receivers receivers = Receivers::kAll);
  std::vector<std::byte> gatherAnyBytes(const Phase& phase, std::span<const std::byte> mine,
                                        std::size_t limit, Receivers receivers);
  void gatherBlocks(std::span<const int> members, std::span<std::byte> all, std::size_t blockBytes,
                    const char* what);

  int nextRank() const { return (rank_ + 1) % ranks_; }
  int previousRank() const { return (rank_ + ranks_ - 1) % ranks_; }

  int rank_;
  int ranks_;
  sockets::Secret secret_;
  std::chrono::seconds timeout_;
  const Logger& log_;
  const sockets::AbortFlag* abort_;
  bool joined_ = false;
  std::vector<int> allRanks_;
  PeerLinks links_;
  std::map<std::uint64_t, std::uint64_t> calls_;   // by group: the number of collective calls
  std::map<std::uint64_t, std::uint64_t> splits_;  // by group: the number of splits
  std::optional<Error> failure_;                   // why another rank, or this one, has given up

  std::string root_;  // while joining: the root's name in errors
  // Polled besides the links: the abort flag and, while joining, the roots.
  std::vector<pollfd> alsoPoll_;
  std::function<void()> alsoCheck_;
  OnWait onWait_;

  // After a time-out of any rank, until collectEnds_: which ranks wait where.
  WaitTracker waits_;
  const char* waitsIn_ = nullptr;  // the call that this rank is in
  int waitsFor_ = -1;
  bool hasNewsOfWaits_ = false;
  std::chrono::steady_clock::time_point collectEnds_;
};

}  // namespace xylem::bootstrap
