// How a rank joins a job: it checks in at its root, which tells it where the next rank listens. It connects
// to the next rank while the previous rank connects to it, reports to the root, and goes on when the root
// says that all ranks are connected. Then all ranks learn where all others listen.

#include <poll.h>

#include "core/error.h"
#include "runtime/bootstrap/bootstrap.h"
#include "runtime/bootstrap/gathered.h"
#include "runtime/bootstrap/reminder.h"
#include "runtime/bootstrap/roster.h"
#include "runtime/sockets/connector.h"
#include "runtime/sockets/interfaces.h"

namespace xylem::bootstrap {
namespace {

constexpr int kRetryMilliseconds = 50;
// Ranks wait this much longer than the root, whose time-out started with the first rank: its message, which
// says who is missing, then arrives in time.
constexpr std::chrono::milliseconds kRootGrace{2000};
constexpr int kRootLastFrameMilliseconds = 200;

// Why a rank has not reached its root, and what to look at.
enum class Unreached { kRefused, kSilent, kCloses, kMute, kStrange, kNoRoute };

const char* reasonText(Unreached why) {
  switch (why) {
    case Unreached::kRefused:
      return "nobody listens there (connection refused); is the process of rank 0 running on that host, and "
             "is the "
             "port right in NCCL_COMM_ID?";
    case Unreached::kSilent:
      return "nothing answers there; is the host up, and does a firewall let the port through? (nc -vz HOST "
             "PORT)";
    case Unreached::kCloses:
      return "what listens there closes connections without a word, as a proxy or a forwarded port does "
             "whose target "
             "is not running; is the address in NCCL_COMM_ID that of the host of rank 0 itself?";
    case Unreached::kMute:
      return "what listens there takes connections and says nothing: a proxy, a load balancer, or a process "
             "that is "
             "stopped; is the address in NCCL_COMM_ID that of the host of rank 0 itself? (ss -ltnp there)";
    case Unreached::kStrange:
      return "what answers there is no root of this job but another job or another program; compare "
             "NCCL_COMM_ID and "
             "XYLEM_SECRET of all ranks";
    case Unreached::kNoRoute:
      break;
  }
  return "this host has no way there; compare NCCL_SOCKET_IFNAME and NCCL_COMM_ID with the interfaces (ip "
         "addr)";
}

// A connection to a root. With several roots, the first rank of a block has a second one, to the root of the
// block before, which only needs its address.
struct RootLink {
  const UniqueId* id = nullptr;
  int root = 0;
  sockets::FrameStream stream;
  bool own = true;
};

}  // namespace

class Joiner {
 public:
  Joiner(std::span<const UniqueId> ids, int rank, int ranks, const Settings& settings, const Logger& log,
         const sockets::AbortFlag* abort, Bootstrap::OnWait onWait)
      : ids_(ids),
        settings_(settings),
        timeout_(settings.integer(Setting::kTimeout)),
        deadline_(Deadline::after(timeout_ + kRootGrace)),
        blocks_{.ranks = ranks, .roots = Blocks::useful(ids.size(), ranks)},
        interface_(sockets::chooseInterface(sockets::listInterfaces(), settings, &ids[0].address())),
        job_(new Bootstrap(rank, ranks, interface_.address, jobSecret(ids), timeout_, log, abort)) {
    job_->tellWaits(std::move(onWait));
  }

  std::unique_ptr<Bootstrap> join() {
    try {
      checkInEverywhere();
      job_->alsoCheck_ = [this] { readFromRoots(); };
      pollRoots();
      learnNextRank();
      job_->connectNeighbours(phase("connecting to its neighbours"));
      own().queue(sockets::FrameKind::kReady);
      awaitFromRoot(sockets::FrameKind::kGo, "waiting for all ranks to be connected");
      job_->alsoCheck_ = nullptr;
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
  Bootstrap::Phase phase(const char* what) const { return {what, job_->allRanks_, deadline_}; }
  sockets::FrameStream& own() { return roots_.front().stream; }
  std::size_t allRanks() const { return static_cast<std::size_t>(job_->ranks_); }

  void checkInEverywhere() {
    const int root = blocks_.rootOf(job_->rank_);
    roots_.push_back({&ids_[static_cast<std::size_t>(root)], root, {}, true});
    if (blocks_.roots > 1 && job_->rank_ == blocks_.first(root)) {
      const int before = (root + blocks_.roots - 1) % blocks_.roots;
      roots_.push_back({&ids_[static_cast<std::size_t>(before)], before, {}, false});
    }
    job_->root_ = nameOf(roots_.front());
    for (RootLink& link : roots_) {
      if (job_->onWait_) job_->onWait_("connecting to " + nameOf(link), -1);
      checkIn(link);
      if (job_->onWait_) job_->onWait_("", -1);
    }
  }

  // Errors name the process that the root runs in: a rank that waits for a root waits for that process.
  std::string nameOf(const RootLink& link) const {
    return fmt::format("the root at {} ({})", link.id->address().text(),
                       settings_.isSet(Setting::kCommId)
                           ? "in the process of rank 0"
                           : "in the process that made the id, rank 0's usually");
  }

  void checkIn(RootLink& link) {
    sockets::Hello hello;
    hello.purpose = sockets::Purpose::kCheckIn;
    hello.rank = job_->rank_;
    hello.ranks = job_->ranks_;
    hello.root = static_cast<std::uint16_t>(link.root);
    hello.roots = static_cast<std::uint16_t>(blocks_.roots);
    hello.address = job_->links_.address().toWire();
    const sockets::SocketAddress& to = link.id->address();
    Reminder reminder;
    Unreached before = Unreached::kSilent;  // the reason of earlier attempts
    const auto check = [&](Unreached why) {
      if (deadline_.passed())
        throw Error(ResultCode::kRemoteError, "timed out after {} s connecting to {}: {}", timeout_.count(),
                    nameOf(link), reasonText(why));
      if (reminder.due())
        job_->log_.warn("Bootstrap : rank {} has not reached {} for {} s: {}", job_->rank_, nameOf(link),
                        reminder.seconds(), reasonText(why));
    };
    for (;;) {
      sockets::Connector connector(to, &interface_.address, link.id->secret(), hello);
      while (!connector.refused() && !advance(connector)) {
        check(connector.reached() ? answerOf(connector) : before);
        sleep(connector.polled(),
              deadline_.pollMilliseconds(connector.polled().fd < 0 ? sockets::Connector::kRetryMilliseconds
                                                                   : 1000));
      }
      if (!connector.refused()) {
        link.stream = sockets::FrameStream(connector.take());
        return;
      }
      // The root of an exchanged id listened before the id existed; that of NCCL_COMM_ID may still be
      // starting.
      if (!settings_.isSet(Setting::kCommId))
        throw Error(
            ResultCode::kRemoteError,
            "nobody listens at {} (connection refused): the process that made the id is gone, or its other "
            "ranks have failed or finished without this one",
            to.text());
      before = Unreached::kRefused;
      check(before);
      sleep({-1, 0, 0}, kRetryMilliseconds);
    }
  }

  // Adds to an error what to look at.
  static bool advance(sockets::Connector& connector) {
    try {
      return connector.advance();
    } catch (const Error& error) {
      throw Error(error.code(), "{}: {}", error.what(),
                  reasonText(!connector.reached() ? Unreached::kNoRoute
                             : connector.closed() ? Unreached::kCloses
                                                  : Unreached::kStrange));
    }
  }
  // Judges a process that listens there and has not yet answered as a root does.
  static Unreached answerOf(const sockets::Connector& connector) {
    return connector.closed() ? Unreached::kCloses : Unreached::kMute;
  }

  void sleep(pollfd polled, int milliseconds) {
    pollfd fds[2] = {polled, {job_->abort_ != nullptr ? job_->abort_->fd() : -1, POLLIN, 0}};
    poll(fds, 2, milliseconds);
    job_->throwIfOver();
  }

  void pollRoots() {
    std::vector<pollfd> fds;
    for (const RootLink& link : roots_)
      if (link.stream.open()) fds.push_back({link.stream.fd(), POLLIN, 0});
    job_->pollAlso(std::move(fds));
  }

  // Reads what the roots send. Throws if it is an error or our own root is gone.
  void readFromRoots() {
    for (RootLink& link : roots_) {
      if (!link.stream.open()) continue;
      link.stream.flush();
      sockets::Frame frame;
      const sockets::FrameStream::Read read =
          link.stream.read(frame, allRanks() * sizeof(sockets::WireAddress));
      if (read == sockets::FrameStream::Read::kNothing) continue;
      if (read == sockets::FrameStream::Read::kClosed) {
        if (received_ == sockets::FrameKind::kGo) continue;
        if (!link.own) {
          // The other root ends when its own block is connected, which may be before ours is.
          link.stream.close();
          pollRoots();
          continue;
        }
        throw Error(
            ResultCode::kRemoteError,
            "{} is gone: its process ended, or its other ranks have failed or finished without this one",
            nameOf(link));
      }
      if (frame.header.kind == sockets::FrameKind::kError)
        throw Error(frame.header.code == static_cast<int>(ResultCode::kInvalidUsage)
                        ? ResultCode::kInvalidUsage
                        : ResultCode::kRemoteError,
                    "{}", frame.text());
      if (!link.own) continue;
      received_ = frame.header.kind;
      if (received_ == sockets::FrameKind::kNext) next_ = std::move(frame.payload);
    }
  }

  void awaitFromRoot(sockets::FrameKind kind, const char* what) {
    job_->await(phase(what), -1, [&] { return received_ == kind; });
  }

  void learnNextRank() {
    awaitFromRoot(sockets::FrameKind::kNext, "waiting for all ranks to check in");
    const std::vector<sockets::SocketAddress> addresses = addressesOf(next_, allRanks());
    knowsAll_ = addresses.size() == allRanks();
    for (std::size_t i = 0; i < addresses.size(); ++i)
      job_->links_.know((job_->nextRank() + static_cast<int>(i)) % job_->ranks_, addresses[i]);
  }

  void tellRoots(const Error& error) {
    for (RootLink& link : roots_) {
      if (!link.stream.open()) continue;
      link.stream.queueError(error.code(), fmt::format("rank {}: {}", job_->rank_, error.what()));
      link.stream.flushWithin(kRootLastFrameMilliseconds);
    }
  }

  std::span<const UniqueId> ids_;
  const Settings& settings_;
  const std::chrono::seconds timeout_;
  const Deadline deadline_;
  const Blocks blocks_;
  const sockets::Interface interface_;
  std::unique_ptr<Bootstrap> job_;
  std::vector<RootLink> roots_;                              // our own first
  sockets::FrameKind received_ = sockets::FrameKind::kData;  // the last message of our own root
  std::vector<std::byte> next_;
  bool knowsAll_ = false;  // true if the root told where every rank listens
};

std::unique_ptr<Bootstrap> Bootstrap::join(std::span<const UniqueId> ids, int rank, int ranks,
                                           const Settings& settings, const Logger& log,
                                           const sockets::AbortFlag* abort, OnWait onWait) {
  if (ids.empty()) throw Error(ResultCode::kInvalidArgument, "a job needs at least one id");
  return Joiner(ids, rank, ranks, settings, log, abort, std::move(onWait)).join();
}

}  // namespace xylem::bootstrap
