#pragma once
// One rank's membership in a communicator, from joining to leaving.
//
//   auto comm = Communicator::join({id, rank, ranks, device}, settings, log);
//   comm->allReduce({send, receive, count}, DataType::kFloat32, ReduceOp::kSum, stream);
//   Scheduler::instance().wait(stream);
//
// Joining is: meet the other ranks (bootstrap), tell each other who one is, plan the job, connect to the
// neighbours in the plan's rings. If any of that fails on one rank, it fails on all, with the same reason.

#include <memory>
#include <optional>

#include "bootstrap/ring.h"
#include "comm/job_plan.h"
#include "comm/links.h"
#include "comm/operations.h"
#include "core/data_type.h"
#include "core/log.h"
#include "device/stream.h"

namespace xylem {

struct Membership {
  UniqueId id;
  int rank = 0;
  int ranks = 1;
  int device = 0;
};

// A new id, and the root behind it in this process (ncclGetUniqueId).
UniqueId newUniqueId(const Settings& settings, std::shared_ptr<const Logger> log);

class Communicator {
 public:
  static std::unique_ptr<Communicator> join(const Membership& membership, const Settings& settings,
                                            std::shared_ptr<const Logger> log);
  // Waits for its operations, then takes leave of its neighbours.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return membership_.rank; }
  int ranks() const { return membership_.ranks; }
  int device() const { return membership_.device; }

  // Enqueues; throws what broke the communicator, if anything did. One thread at a time.
  void allReduce(const RingBuffers& buffers, DataType type, ReduceOp op, Stream& stream);
  // What broke it while an operation was running.
  std::optional<Error> failure() const { return operations_->failure(); }

 private:
  Communicator(const Membership& membership, std::shared_ptr<const Logger> log);
  void meet(const Settings& settings);
  void plan(const Settings& settings);
  void connect(const Settings& settings);
  int channelsToUse(const Settings& settings) const;

  Membership membership_;
  std::shared_ptr<const Logger> log_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<Transport> transport_;
  std::vector<PeerInfo> peers_;
  PlannedJob job_;
  Links links_;
  std::unique_ptr<Operations> operations_;
};

}  // namespace xylem
