#pragma once
// A thread that takes the ranks it serves through a phase: all of them in each group of calls, like a program
// with several devices.
//
//   Driver driver(board, plan, phase, std::move(actors));
//   driver.run();

#include <memory>
#include <vector>

#include "soak/actor.h"

namespace xylem::soak {

class Driver {
 public:
  Driver(Board& board, const PhasePlan& plan, int phase, std::vector<std::unique_ptr<Actor>> actors)
      : board_(board), plan_(plan), phase_(phase), actors_(std::move(actors)) {}

  void run();

 private:
  using Actors = std::vector<Actor*>;
  // A call that a rank makes on a communicator.
  struct Call {
    Actor* actor;
    int comm;
  };

  Actors membersOf(int comm);
  void perform(const Step& step);
  void join(const Step& step);
  void joinAll(int comm, const Actors& members);
  void joinByIds(const std::vector<Call>& calls, bool mayFail);
  ncclResult_t joinOne(const Call& call);
  void publishIds(int comm);
  void split(const Step& step);
  void operate(const Step& step);
  // Returns whether the operations were accepted.
  bool issue(const std::vector<const Operation*>& operations, const Actors& actors, bool grouped,
             bool tolerant);
  std::vector<const Operation*> inOrderOf(Actor& actor, const std::vector<const Operation*>& operations);
  void end(const Step& step);
  void abort(const Step& step);
  void leaveAborted(Actor& actor, const Step& step, bool mustFail);
  void abortJoin(const Step& step);
  void synchronize();

  Board& board_;
  const PhasePlan& plan_;
  const int phase_;
  std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace xylem::soak
