#include "runtime/bootstrap/roster.h"

#include "core/error.h"

namespace xylem::bootstrap {
namespace {

// Bounds the memory that one hello can make the root allocate.
constexpr int kMaxRanks = 1 << 20;

}  // namespace

int Roster::rankAt(std::size_t seat) const {
  return (blocks_.first(root_) + static_cast<int>(seat)) % blocks_.ranks;
}

std::size_t Roster::seatOf(const sockets::Hello& hello) {
  if (hello.purpose != sockets::Purpose::kCheckIn || hello.ranks < 1 || hello.ranks > kMaxRanks ||
      hello.rank < 0 || hello.rank >= hello.ranks || hello.roots < 1 || hello.roots > hello.ranks ||
      hello.root >= hello.roots)
    throw Error(ResultCode::kInvalidUsage, "there is no rank {} of {} at root {} of {}", hello.rank,
                hello.ranks, hello.root, hello.roots);
  if (seats_ == 0) {
    blocks_ = {.ranks = hello.ranks, .roots = hello.roots};
    root_ = hello.root;
    seats_ = static_cast<std::size_t>(blocks_.count(root_) + (blocks_.roots > 1 ? 1 : 0));
  }
  if (blocks_.ranks != hello.ranks)
    throw Error(ResultCode::kInvalidUsage, "rank {} says there are {} ranks, others say {}", hello.rank,
                hello.ranks, blocks_.ranks);
  if (blocks_.roots != hello.roots || root_ != hello.root)
    throw Error(
        ResultCode::kInvalidUsage,
        "rank {} takes this for root {} of {}, others for {} of {}: all ranks need the same ids in the "
        "same order",
        hello.rank, hello.root, hello.roots, root_, blocks_.roots);
  const int seat = (hello.rank - blocks_.first(root_) + blocks_.ranks) % blocks_.ranks;
  if (seat < static_cast<int>(seats_)) return static_cast<std::size_t>(seat);
  throw Error(ResultCode::kInvalidUsage, "rank {} does not belong to root {} of {}", hello.rank, root_,
              blocks_.roots);
}

}  // namespace xylem::bootstrap
