#pragma once
// A tuner plugin made for NCCL (NCCL_TUNER_PLUGIN), asked about one communicator's collectives: it may
// change the model's estimates for every algorithm and protocol, and the number of channels.
//
//   std::shared_ptr<const Tuner> tuner = findTuner(settings, {ranks, nodes, communicator, 4, 8}, log);   // or null
//   TunerAnswer answer{.times = predicted};
//   tuner->ask({Collective::kAllReduce, bytes, 1}, answer);
//
// All ranks must come to the same decisions. As in NCCL, nothing checks that.

#include <memory>

#include "core/kinds.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {

struct TunedJob {
  std::size_t ranks = 1;
  std::size_t nodes = 1;
  std::uint64_t communicator = 0;        // the same on all ranks, and of no other communicator
  int fewestOnNode = 1, mostOnNode = 1;  // ranks
};

struct TunedOperation {
  Collective collective = Collective::kAllReduce;
  std::size_t bytes = 0;  // the larger of what a rank sends and receives
  int aggregated = 1;     // number of operations of a group that this one stands for
};

// Times in microseconds; abi::kCannotRun for what cannot run, whatever the plugin says.
struct TunerAnswer {
  ByAlgorithm<ByProtocol<float>> times{};
  int channels = 0;  // 0: no answer
};

class Tuner {
 public:
  // Throws if the plugin's init fails.
  Tuner(std::shared_ptr<const PluginLibrary> library, VersionedSymbol table, const TunedJob& job,
        const std::shared_ptr<const Logger>& log);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // Lets the plugin change `answer`. If the plugin fails, `answer` stays as it is, and the log says so.
  void ask(const TunedOperation& operation, TunerAnswer& answer) const;

 private:
  template <typename Table>
  const Table& as() const {
    return *static_cast<const Table*>(table_.object);
  }
  bool askTable(const TunedOperation& operation, TunerAnswer& answer) const;
  bool askChoice(const TunedOperation& operation, TunerAnswer& answer) const;

  std::shared_ptr<const PluginLibrary> library_;
  VersionedSymbol table_;
  std::shared_ptr<const Logger> log_;
  void* context_ = nullptr;
};

// Finds a tuner by NCCL's rules: the library that the variable names, else libnccl-tuner.so, else the net
// plugin's.
std::shared_ptr<const Tuner> findTuner(const Settings& settings, const TunedJob& job,
                                       const std::shared_ptr<const Logger>& log);

}  // namespace xylem::plugins
