#pragma once
// A tuner plugin made for NCCL (NCCL_TUNER_PLUGIN) and what it thinks of one communicator's collectives: it
// may change what the model expects every algorithm and protocol to take, and the number of channels.
//
//   std::shared_ptr<const Tuner> tuner = findTuner(settings, {ranks, nodes}, log);   // null: there is none
//   TunerOpinion opinion{.times = predicted};
//   tuner->ask({Collective::kAllReduce, bytes, 1}, opinion);
//
// Ranks must come to the same decisions; nobody checks that, as in NCCL.

#include <memory>

#include "core/kinds.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem {

struct TunedJob {
  std::size_t ranks = 1;
  std::size_t nodes = 1;
};

struct TunedOperation {
  Collective collective = Collective::kAllReduce;
  std::size_t bytes = 0;  // the larger of what a rank sends and receives
  int aggregated = 1;     // operations of a group that this one stands for
};

// Microseconds; abi::kCannotRun for what cannot run, of which the plugin makes nothing else.
struct TunerOpinion {
  ByAlgorithm<ByProtocol<float>> times{};
  int channels = 0;  // 0: no opinion
};

class Tuner {
 public:
  // Throws if the plugin's init fails.
  Tuner(std::shared_ptr<const PluginLibrary> library, VersionedSymbol table, const TunedJob& job,
        const std::shared_ptr<const Logger>& log);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // What the plugin makes of it. If it fails the opinion stays as it is, and the log says so.
  void ask(const TunedOperation& operation, TunerOpinion& opinion) const;

 private:
  template <typename Table>
  const Table& as() const {
    return *static_cast<const Table*>(table_.object);
  }
  bool askTable(const TunedOperation& operation, TunerOpinion& opinion) const;
  bool askChoice(const TunedOperation& operation, TunerOpinion& opinion) const;

  std::shared_ptr<const PluginLibrary> library_;
  VersionedSymbol table_;
  std::shared_ptr<const Logger> log_;
  void* context_ = nullptr;
};

// By NCCL's rules: the variable, else libnccl-tuner.so, else what the net plugin's library has.
std::shared_ptr<const Tuner> findTuner(const Settings& settings, const TunedJob& job,
                                       const std::shared_ptr<const Logger>& log);

}  // namespace xylem
