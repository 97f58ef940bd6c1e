#pragma once
// A profiler plugin made for NCCL (NCCL_PROFILER_PLUGIN), as one communicator uses it: it learns when groups,
// collectives, sends and receives are issued, when they are at work on their channels, and how their steps go over the
// network (profiled_queues.h).
//
//   std::unique_ptr<Profiler> profiler = findProfiler(settings, {rank, id}, log);   // null: there is none
//   {
//     ProfiledGroup group(*profiler);                     // stops its events, children first
//     void* event = group.start(ProfiledCall{.function = Function::kAllReduce, ...});
//   }

#include <memory>
#include <vector>

#include "core/data_type.h"
#include "core/kinds.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/plugins/plugin_library.h"
#include "runtime/plugins/profiler_abi.h"

namespace xylem::plugins {

struct ProfiledRank {
  int rank = 0;
  std::uint64_t communicator = 0;  // the same on all ranks, and on no other communicator
  int ranks = 1;
  int nodes = 1;
  std::string name;  // that the program gave the communicator; empty: none
};

struct ProfiledCall {
  Function function = Function::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  DataType type = DataType::kInt8;
  int peer = 0;      // or the root
  int channels = 1;  // on which it will be at work
  // Collectives:
  ReduceOp op = ReduceOp::kSum;
  std::size_t bytes = 0;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  bool direct = false;  // an exchange on one host, no algorithm of NCCL's
};

// The part of a call that goes through one queue over the network.
struct ProfiledPart {
  void* call = nullptr;  // its event
  int channel = 0;
  int peer = 0;
  int steps = 0;
  std::size_t stepBytes = 0;  // of one step, at most
  bool sends = false;
};

// The host's monotonic clock, in nanoseconds.
std::uint64_t hostClock();

class Profiler {
 public:
  // Throws if the plugin's init fails.
  Profiler(std::shared_ptr<const PluginLibrary> library, VersionedSymbol table, const ProfiledRank& rank,
           const std::shared_ptr<const Logger>& log);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Whether the plugin wants any events now, whether any of what becomes of calls once they have been issued, whether those of
  // calls at work on channels, and whether any of the network's.
  bool listens() const;
  bool followsCalls() const;
  bool followsChannels() const;
  bool listensToProxy() const;

  // Start an event: of a call at work on a channel, a part of a call, a step of it, or the progress thread. Null if the
  // plugin does not want it.
  void* startChannel(void* call, int channel, std::uint64_t time) const;
  void* startProxyOp(const ProfiledPart& part) const;
  void* startProxyStep(void* part, int step) const;
  void* startProxyControl() const;
  // Do nothing for null.
  void stopChannel(void* event, std::uint64_t time) const;
  void record(void* event, abi::ProfiledState state, abi::ProxyOpProgress progress = {}) const;
  void stop(void* event) const;

 private:
  friend class ProfiledGroup;
  void* startGroup() const;
  // The call as the program made it; null before version 5.
  void* startApiCall(void* group, const ProfiledCall& call) const;
  void* startCall(void* parent, const ProfiledCall& call) const;
  // `fill` writes the event, of any version.
  template <typename Fill>
  void* start(abi::ProfiledKind kind, void* parent, const Fill& fill) const;
  template <typename Event, typename Fill>
  void* startAs(abi::ProfiledKind kind, void* parent, const Fill& fill) const;

  const abi::Profiler& table() const { return *static_cast<const abi::Profiler*>(table_.object); }

  std::shared_ptr<const PluginLibrary> library_;
  VersionedSymbol table_;
  ProfiledRank rank_;
  void* context_ = nullptr;
  std::uint64_t collectives_ = 0;  // issued
};

// The events of one group. They stop when the group has been issued, not when it is done.
class ProfiledGroup {
 public:
  explicit ProfiledGroup(Profiler& profiler);
  ~ProfiledGroup();
  ProfiledGroup(const ProfiledGroup&) = delete;
  ProfiledGroup& operator=(const ProfiledGroup&) = delete;

  // The call's event, or null.
  void* start(const ProfiledCall& call);

 private:
  Profiler& profiler_;
  void* group_;
  std::vector<void*> calls_;
};

// Finds a profiler by NCCL's rules: the library that the variable names, else libnccl-profiler.so. Null if
// there is none or its init fails; the log says so.
std::unique_ptr<Profiler> findProfiler(const Settings& settings, const ProfiledRank& rank,
                                       const std::shared_ptr<const Logger>& log);

}  // namespace xylem::plugins
