// How a rank gets into a job: it checks in at its root, learns where the next rank listens, connects to it
// while the previous rank connects to us, reports to the root, and goes on when the root says that everybody
// is connected. Then all ranks tell each other where they listen.

#include <poll.h>

#include "runtime/bootstrap/blocks.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/gathered.h"
#include "core/error.h"
#include "runtime/sockets/caller.h"
#include "runtime/sockets/interfaces.h"

namespace xylem {
namespace {

constexpr int kRetryMilliseconds = 50;
// The root's clock started with the first rank, so it speaks before ours runs out; this is for its words to
// arrive.
constexpr std::chrono::milliseconds kRootGrace{2000};
constexpr int kRefusedLastWordsMilliseconds = 200;

// A connection to a root. With several roots, the first rank of a block has one more, to the root of the
// block before, which only needs its address.
struct RootLink {
  const UniqueId* id = nullptr;
  int root = 0;
  FrameStream stream;
  bool own = true;
};

}  // namespace

class Joiner {
 public:
  Joiner(std::span<const UniqueId> ids, int rank, int ranks, const Settings& settings, const Logger& log,
         const AbortFlag* abort)
      : ids_(ids),
        settings_(settings),
        timeout_(settings.integer(Setting::kTimeout)),
        deadline_(Deadline::after(timeout_ + kRootGrace)),
        blocks_{.ranks = ranks, .roots = Blocks::useful(ids.size(), ranks)},
        interface_(chooseInterface(listInterfaces(), settings, &ids[0].address())),
        job_(new Bootstrap(rank, ranks, interface_.address, jobSecret(ids), timeout_, log, abort)) {}

  std::unique_ptr<Bootstrap> join() {
    try {
      checkInEverywhere();
      job_->alsoLook_ = [this] { lookAtRoots(); };
      pollRoots();
      hearNext();
      job_->connectNeighbours(phase("connecting to its neighbours"));
      own().queue(FrameKind::kReady);
      hear(FrameKind::kGo, "waiting for all ranks to be connected");
      job_->alsoLook_ = nullptr;
      job_->pollAlso({});
      job_->joined_ = true;
      if (!knowsAll_) job_->learnAddresses(job_->phase("the exchange of addresses"));
    } catch (const Error& error) {
      tellRoots(error);
      job_->abort(error.what());
      throw;
    }
    return std::move(job_);
  }

 private:
  Bootstrap::Phase phase(const char* what) const { return {what, job_->everyone_, deadline_}; }
  FrameStream& own() { return roots_.front().stream; }
  std::size_t everybody() const { return static_cast<std::size_t>(job_->ranks_); }

  void checkInEverywhere() {
    const int root = blocks_.rootOf(job_->rank_);
    roots_.push_back({&ids_[static_cast<std::size_t>(root)], root, {}, true});
    if (blocks_.roots > 1 && job_->rank_ == blocks_.first(root)) {
      const int before = (root + blocks_.roots - 1) % blocks_.roots;
      roots_.push_back({&ids_[static_cast<std::size_t>(before)], before, {}, false});
    }
    job_->root_ = nameOf(roots_.front());
    for (RootLink& link : roots_) checkIn(link);
  }

  // Whoever waits for a root waits for the rank in whose process it is.
  std::string nameOf(const RootLink& link) const {
    return fmt::format("the root at {} ({})", link.id->address().text(),
                       settings_.isSet(Setting::kCommId)
                           ? "in the process of rank 0"
                           : "in the process that made the id, rank 0's usually");
  }

  void checkIn(RootLink& link) {
    Hello hello;
    hello.purpose = Purpose::kCheckIn;
    hello.rank = job_->rank_;
    hello.ranks = job_->ranks_;
    hello.root = static_cast<std::uint16_t>(link.root);
    hello.roots = static_cast<std::uint16_t>(blocks_.roots);
    hello.address = job_->links_.address().toWire();
    const SocketAddress& to = link.id->address();
    for (;;) {
      Caller caller(to, &interface_.address, link.id->secret(), hello);
      while (!caller.refused() && !caller.advance()) {
        if (deadline_.passed())
          throw Error(ResultCode::kRemoteError, "timed out after {} s connecting to {}", timeout_.count(),
                      nameOf(link));
        sleep(caller.wish(),
              deadline_.pollMilliseconds(caller.wish().fd < 0 ? Caller::kRetryMilliseconds : 1000));
      }
      if (!caller.refused()) {
        link.stream = FrameStream(caller.take());
        return;
      }
      // An exchanged id names a root that was there before the id; NCCL_COMM_ID's may still be starting.
      if (!settings_.isSet(Setting::kCommId) || deadline_.passed())
        throw Error(
            ResultCode::kRemoteError,
            "nobody listens at {} (connection refused): the process that made the id is gone, or its other "
            "ranks have failed or finished without this one",
            to.text());
      sleep({-1, 0, 0}, kRetryMilliseconds);
    }
  }

  void sleep(pollfd wish, int milliseconds) {
    pollfd fds[2] = {wish, {job_->abort_ != nullptr ? job_->abort_->fd() : -1, POLLIN, 0}};
    poll(fds, 2, milliseconds);
    job_->look();
  }

  void pollRoots() {
    std::vector<pollfd> fds;
    for (const RootLink& link : roots_)
      if (link.stream.open()) fds.push_back({link.stream.fd(), POLLIN, 0});
    job_->pollAlso(std::move(fds));
  }

  // Whatever a root says; throws if it is an error or the root is gone.
  void lookAtRoots() {
    for (RootLink& link : roots_) {
      if (!link.stream.open()) continue;
      link.stream.flush();
      Frame frame;
      const FrameStream::Read read = link.stream.read(frame, everybody() * sizeof(WireAddress));
      if (read == FrameStream::Read::kNothing) continue;
      if (read == FrameStream::Read::kClosed) {
        // The other root's block may be complete, and ours not yet.
        if (heard_ == FrameKind::kGo) continue;
        if (!link.own) {
          link.stream.close();
          pollRoots();
          continue;
        }
        throw Error(ResultCode::kRemoteError, "{} is gone: its process ended", nameOf(link));
      }
      if (frame.header.kind == FrameKind::kError)
        throw Error(frame.header.code == static_cast<int>(ResultCode::kInvalidUsage)
                        ? ResultCode::kInvalidUsage
                        : ResultCode::kRemoteError,
                    "{}", frame.text());
      if (!link.own) continue;
      heard_ = frame.header.kind;
      if (heard_ == FrameKind::kNext) next_ = std::move(frame.payload);
    }
  }

  void hear(FrameKind kind, const char* what) {
    job_->await(phase(what), -1, [&] { return heard_ == kind; });
  }

  void hearNext() {
    hear(FrameKind::kNext, "waiting for all ranks to check in");
    const std::vector<SocketAddress> addresses = addressesOf(next_, everybody());
    knowsAll_ = addresses.size() == everybody();
    for (std::size_t i = 0; i < addresses.size(); ++i)
      job_->links_.know((job_->nextRank() + static_cast<int>(i)) % job_->ranks_, addresses[i]);
  }

  void tellRoots(const Error& error) {
    for (RootLink& link : roots_) {
      if (!link.stream.open()) continue;
      link.stream.queueError(error.code(), fmt::format("rank {}: {}", job_->rank_, error.what()));
      link.stream.flushWithin(kRefusedLastWordsMilliseconds);
    }
  }

  std::span<const UniqueId> ids_;
  const Settings& settings_;
  const std::chrono::seconds timeout_;
  const Deadline deadline_;
  const Blocks blocks_;
  const Interface interface_;
  std::unique_ptr<Bootstrap> job_;
  std::vector<RootLink> roots_;  // our own first
  FrameKind heard_ = FrameKind::kData;
  std::vector<std::byte> next_;
  bool knowsAll_ = false;  // where every rank listens
};

std::unique_ptr<Bootstrap> Bootstrap::join(std::span<const UniqueId> ids, int rank, int ranks,
                                           const Settings& settings, const Logger& log,
                                           const AbortFlag* abort) {
  if (ids.empty()) throw Error(ResultCode::kInvalidArgument, "a job needs at least one id");
  return Joiner(ids, rank, ranks, settings, log, abort).join();
}

}  // namespace xylem
