#pragma once
// One rank's membership in a job, for what ranks tell each other outside of the data: who they are, what they
// see, where to connect. Nothing here waits longer than XYLEM_TIMEOUT.
//
//   auto bootstrap = Bootstrap::join(ids, rank, ranks, settings, log, &abortFlag);
//   std::vector<PeerInfo> peers = bootstrap->allGather(mine, "the exchange of peers");
//   bootstrap->send(3, kTag, bytes);                      // rank 3: bootstrap->receive(me, kTag)
//   auto half = bootstrap->split(evenRanks);              // a job of its own, for those ranks
//
// Ranks are connected in a ring, and directly to whom they talk to otherwise, by authenticated connections
// that are made when first used. There is no thread: connections make progress inside the calls, so `send`
// returns once the peer is in any call of its bootstrap, not before it has ever been. One thread at a time
// may use a Bootstrap; others may raise the abort flag.
//
// A rank that fails says so to all it is connected to, and they pass it on; one that dies is noticed by its
// neighbours. Either way every call of every rank ends with an Error that names the rank. Calls have a name,
// `what`: when time runs out, the ranks that wait tell each other where, and the error says who is missing.

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

#include "runtime/bootstrap/peer_links.h"
#include "runtime/bootstrap/roll_call.h"
#include "runtime/bootstrap/unique_id.h"
#include "core/deadline.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/sockets/abort_flag.h"

namespace xylem {

class Bootstrap {
 public:
  // Returns when every rank is connected. All ranks give the same ids in the same order; with several of them
  // the ranks are spread over their roots. `log` and `abort` must outlive the Bootstrap and what it is split
  // into.
  static std::unique_ptr<Bootstrap> join(std::span<const UniqueId> ids, int rank, int ranks,
                                         const Settings& settings, const Logger& log,
                                         const AbortFlag* abort = nullptr);
  static std::unique_ptr<Bootstrap> join(const UniqueId& id, int rank, int ranks, const Settings& settings,
                                         const Logger& log, const AbortFlag* abort = nullptr) {
    return join(std::span(&id, 1), rank, ranks, settings, log, abort);
  }
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // What the ranks of this job know, for further connections between them.
  const Secret& secret() const { return secret_; }
  // Where this rank listens, and the interface that all this goes through.
  const SocketAddress& address() const { return links_.address(); }
  const SocketAddress& interface() const { return links_.interface(); }

  // One value of plain bytes from each rank, in the order of ranks.
  template <typename T>
  std::vector<T> allGather(const T& mine, const char* what = "an all-gather") {
    return allGatherAmong(everyone_, mine, what);
  }
  // As many bytes from each rank as it likes, up to `limit`.
  std::vector<std::vector<std::byte>> allGatherBytes(std::span<const std::byte> mine, std::size_t limit,
                                                     const char* what = "an all-gather of bytes") {
    return allGatherBytesAmong(everyone_, mine, limit, what);
  }
  void barrier(const char* what = "a barrier") { allGather(char{0}, what); }

  // The same among some ranks: each of them calls with the same list, which this rank is on. The results are
  // in the order of the list. Lists that differ do not disturb each other.
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
  // The same, but for the first of them alone: the others hear nothing.
  std::vector<std::vector<std::byte>> gatherBytesAmong(std::span<const int> members,
                                                       std::span<const std::byte> mine, std::size_t limit,
                                                       const char* what);
  void barrierAmong(std::span<const int> members, const char* what = "a barrier among some ranks") {
    allGatherAmong(members, char{0}, what);
  }
  void intraHostBarrier(std::span<const int> ranksOfMyHost, const char* what = "a barrier on one host") {
    barrierAmong(ranksOfMyHost, what);
  }

  // Between any two ranks; messages of one tag arrive in order. `send` returns when the system has taken all
  // bytes. A message may be up to kMostFrameBytes long. A rank may send to itself.
  void send(int peer, std::uint64_t tag, std::span<const std::byte> bytes, const char* what = "a send");
  std::vector<std::byte> receive(int peer, std::uint64_t tag, const char* what = "a receive");

  // A job of `members` alone, which become ranks 0, 1, ... in the order of the list; each of them calls this,
  // nobody else. It has connections and a secret of its own and may outlive this one. Without a flag of its
  // own it has this one's.
  std::unique_ptr<Bootstrap> split(std::span<const int> members, const AbortFlag* abort = nullptr,
                                   const char* what = "a split");

  // Throws if another rank has given up or a neighbour in the ring is gone; otherwise returns at once. For
  // whoever waits for something else.
  void check();
  // Something else to look at, several times a second, in every call that waits (and says in which): it
  // throws what ends the call.
  void lookAlso(std::function<void(const char* what)> look);
  // For whoever sees a rank vanish: it may only have followed one that failed first, and others know which.
  // Waits a moment for them to say so, and throws what they say.
  void awaitReason();
  // Tells the others why this rank gives up. Every later call fails, here and there; with ncclInvalidUsage
  // if that is `code`, otherwise with ncclRemoteError.
  void abort(std::string_view reason, ResultCode code = ResultCode::kRemoteError) noexcept;

 private:
  struct Phase {
    const char* what;
    std::span<const int> members;  // who should take part
    Deadline deadline;
  };
  Bootstrap(int rank, int ranks, const SocketAddress& interface, const Secret& secret,
            std::chrono::seconds timeout, const Logger& log, const AbortFlag* abort);
  friend class Joiner;

  Phase phase(const char* what) const { return {what, everyone_, Deadline::after(timeout_)}; }
  // Waits until done() says true, meanwhile for `peer`, if that is not -1.
  void await(const Phase& phase, int peer, const std::function<bool()>& done);
  void look();
  void pollAlso(std::vector<pollfd> fds);
  void hear(int peer, Frame& frame);
  void answerRoll();
  void gossip();
  [[noreturn]] void timedOut(const Phase& phase, int peer);
  Error ended(int rank, const char* what) const;

  void connectNeighbours(const Phase& phase);
  void learnAddresses(const Phase& phase);

  // runtime/bootstrap/gather.cc
  static constexpr std::size_t kAnyBytes = static_cast<std::size_t>(-1);
  std::size_t indexAmong(std::span<const int> members) const;
  std::uint64_t groupOf(std::span<const int> members) const;
  void tell(int peer, std::uint64_t tag, std::span<const std::byte> bytes);
  std::vector<std::byte> hearFrom(const Phase& phase, int peer, std::uint64_t tag, std::size_t bytes);
  enum class Hears { kEverybody, kFirst };
  std::vector<std::byte> gather(const Phase& phase, std::span<const std::byte> mine, std::size_t each,
                                Hears hears = Hears::kEverybody);
  std::vector<std::byte> gatherSpeeches(const Phase& phase, std::span<const std::byte> mine,
                                        std::size_t limit, Hears hears);
  void gatherBlocks(std::span<const int> members, std::span<std::byte> all, std::size_t blockBytes,
                    const char* what);

  int nextRank() const { return (rank_ + 1) % ranks_; }
  int previousRank() const { return (rank_ + ranks_ - 1) % ranks_; }

  int rank_;
  int ranks_;
  Secret secret_;
  std::chrono::seconds timeout_;
  const Logger& log_;
  const AbortFlag* abort_;
  bool joined_ = false;
  std::vector<int> everyone_;
  PeerLinks links_;
  std::map<std::uint64_t, std::uint64_t> calls_;   // by group: how many collective calls there were
  std::map<std::uint64_t, std::uint64_t> splits_;  // by group
  std::optional<Error> badNews_;                   // why another rank, or this one, has given up

  std::string root_;  // while joining: what it is called in errors
  // Besides the links: the abort flag and, while joining, the root.
  std::vector<pollfd> alsoPoll_;
  std::function<void()> alsoLook_;

  RollCall roll_;
  const char* waitsIn_ = nullptr;
  int waitsFor_ = -1;
  bool hasNewsOfRoll_ = false;
  std::chrono::steady_clock::time_point rollEnds_;
};

}  // namespace xylem
