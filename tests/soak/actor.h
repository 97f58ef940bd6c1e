#pragma once
// One rank of the soak during a phase: its streams, its communicators, the operations that it has under way.
// The thread that drives the rank calls activate() first.
//
//   Actor actor(rank, board, plan, random);
//   actor.activate();
//   Issued& call = actor.add(operation, Side::kBoth);
//   actor.prepare(call); actor.call(call); actor.follow(call);
//   actor.synchronize(); actor.verify();

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "soak/board.h"
#include "soak/issued.h"

namespace xylem::soak {

struct Member {
  ncclComm_t handle = nullptr;
  bool failed = false;  // its operations may have had no effect
};

class Actor {
 public:
  Actor(int rank, int phase, Board& board, const PhasePlan& plan, Random random);
  ~Actor();
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  int rank() const { return rank_; }
  Random& random() { return random_; }
  Member& member(int comm) { return members_[static_cast<std::size_t>(comm)]; }
  const Comm& comm(int index) const { return plan_.comms[static_cast<std::size_t>(index)]; }
  int rankIn(int index) const { return comm(index).rankOf(rank_); }

  // Makes the rank's device that of the thread, and records what it does on the `Board`.
  void activate() const;
  void say(const char* what, int comm = -1) const;
  void atStep(int step) const;

  // An operation from its start to its end: the input is written now or in the order of a stream; the call;
  // the check, in the order of a stream or by verify().
  struct Pending {
    Pending(const Operation& operation, const Comm& comm, int rank, Side side, Random& random)
        : issued(operation, comm, rank, side, random) {}
    Issued issued;
    cudaStream_t stream = nullptr;
    void* registration = nullptr;
    bool dropped = false;  // never started
  };
  Pending& add(const Operation& operation, Side side);
  void prepare(Pending& pending);
  ncclResult_t call(Pending& pending);
  void follow(Pending& pending);

  // Waits for its streams. Errors of operations are accepted only if `tolerant`.
  bool synchronize(bool tolerant);
  // Checks all operations that are done, and forgets them.
  void verify();

  // Ends the soak unless the call succeeds, now or later (communicators that do not block).
  void require(ncclResult_t result, const char* what, ncclComm_t handle) const;
  // Waits until the communicator has finished what was asked of it.
  static ncclResult_t settle(ncclComm_t handle);
  void reportWrong(const std::string& text) const;
  [[noreturn]] void giveUp(const std::string& text) const;

 private:
  cudaStream_t anyStream();
  void inOrder(cudaStream_t stream, void (*work)(void*), Pending& pending);
  void letWait(cudaStream_t stream, cudaStream_t forWhom);
  void require(cudaError_t result, const char* what) const;
  cudaError_t waitFor(cudaStream_t stream);

  const int rank_, phase_;
  Board& board_;
  const PhasePlan& plan_;
  Random random_;
  std::vector<cudaStream_t> streams_{nullptr};
  std::vector<Member> members_;
  std::deque<std::unique_ptr<Pending>> pending_;
  bool streamFailed_ = false;  // since the start of the pending operations
};

}  // namespace xylem::soak
