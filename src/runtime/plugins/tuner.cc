#include "runtime/plugins/tuner.h"

#include <strings.h>

#include "runtime/plugins/abi.h"
#include "runtime/plugins/plugin_library.h"

namespace xylem::plugins {
namespace {

constexpr const char* kTunerPlugin = "TUNER/Plugin";
constexpr int kAlgorithms = static_cast<int>(kAllAlgorithms.size());
constexpr int kProtocols = static_cast<int>(kAllProtocols.size());

// The plugin gets a contiguous table of floats.
static_assert(sizeof(TunerAnswer::times) == sizeof(float[kAlgorithms][kProtocols]));

VersionedSymbol tunerTable(const PluginLibrary& library) {
  return library.newest(abi::kTunerSymbol, abi::kNewestTuner, abi::kOldestTuner);
}

// The tables of all versions have functions at the same places.
const abi::TunerV4& beginning(const VersionedSymbol& table) {
  return *static_cast<const abi::TunerV4*>(table.object);
}

abi::Result start(const VersionedSymbol& table, const TunedJob& job, abi::LogFunction log, void** context) {
  if (table.version < 5) return beginning(table).init(job.ranks, job.nodes, log, context);
  abi::NvlinkDomains domains{static_cast<int>(job.nodes), job.fewestOnNode, job.mostOnNode};
  // They are those of GPUs; the model of host devices has none of them.
  abi::TunerConstants constants{};
  return static_cast<const abi::TunerV5*>(table.object)
      ->init(context, job.communicator, job.ranks, job.nodes, log, &domains, &constants);
}

}  // namespace

Tuner::Tuner(std::shared_ptr<const PluginLibrary> library, VersionedSymbol table, const TunedJob& job,
             const std::shared_ptr<const Logger>& log)
    : library_(std::move(library)), table_(table), log_(log) {
  const abi::TunerV4& tuner = beginning(table_);
  const std::string label = fmt::format("tuner plugin {} of {}", nameOf(tuner.name), library_->name());
  requireFunctions(label, table_.version,
                   {{"init", tuner.init != nullptr},
                    {"getCollInfo", tuner.getCollInfo != nullptr},
                    {table_.version < 5 ? "destroy" : "finalize", tuner.destroy != nullptr}});
  requireSuccess(start(table_, job, pluginLog(log), &context_), "init", label);
  log->info(Subsystem::kInit, "{}: Using tuner plugin {} (v{})", kTunerPlugin, nameOf(tuner.name),
            table_.version);
}

Tuner::~Tuner() { beginning(table_).destroy(context_); }

bool Tuner::askTable(const TunedOperation& operation, TunerAnswer& answer) const {
  const auto function = static_cast<int>(operation.collective);
  auto* times = reinterpret_cast<float**>(&answer.times);
  if (table_.version == 3)
    return as<abi::TunerV3>().getCollInfo(context_, function, operation.bytes, operation.aggregated, times,
                                          kAlgorithms, kProtocols, &answer.channels) == abi::kSuccess;
  return as<abi::TunerV4>().getCollInfo(context_, function, operation.bytes, operation.aggregated, times,
                                        kAlgorithms, kProtocols, 0, &answer.channels) == abi::kSuccess;
}

// Version 2 names one algorithm and protocol: its time becomes zero, so that it wins.
bool Tuner::askChoice(const TunedOperation& operation, TunerAnswer& answer) const {
  const auto runs = [&](Algorithm algorithm) {
    return answer.times[algorithm][Protocol::kSimple] >= 0 ? 1 : 0;
  };
  const int nvls = runs(Algorithm::kNvls) | runs(Algorithm::kNvlsTree);
  int algorithm = -1, protocol = -1;
  if (as<abi::TunerV2>().getCollInfo(context_, static_cast<int>(operation.collective), operation.bytes,
                                     runs(Algorithm::kCollnetChain), nvls, operation.aggregated, &algorithm,
                                     &protocol, &answer.channels) != abi::kSuccess)
    return false;
  if (algorithm < 0 || algorithm >= kAlgorithms || protocol < 0 || protocol >= kProtocols) return true;
  float& time = answer.times[static_cast<Algorithm>(algorithm)][static_cast<Protocol>(protocol)];
  if (time >= 0) time = 0;
  return true;
}

void Tuner::ask(const TunedOperation& operation, TunerAnswer& answer) const {
  TunerAnswer changed = answer;
  if (!(table_.version == 2 ? askChoice(operation, changed) : askTable(operation, changed))) {
    log_->info(Subsystem::kTuning, "{}: no answer for {} of {} bytes: the model decides", kTunerPlugin,
               name(operation.collective), operation.bytes);
    return;
  }
  answer.channels = changed.channels;
  for (const Algorithm a : kAllAlgorithms)
    for (const Protocol p : kAllProtocols)
      if (answer.times[a][p] >= 0) answer.times[a][p] = changed.times[a][p];
}

std::shared_ptr<const Tuner> findTuner(const Settings& settings, const TunedJob& job,
                                       const std::shared_ptr<const Logger>& log) {
  const std::string& wanted = settings.text(Setting::kTunerPlugin);
  if (strcasecmp(wanted.c_str(), "none") == 0) return nullptr;
  auto library = PluginLibrary::find({kTunerPlugin, kTunerPrefix, wanted}, *log);
  if (!library)
    library = PluginLibrary::find(
        {kTunerPlugin, kNetPrefix, pluginEntries(settings.text(Setting::kNetPlugin)).front()}, *log);
  if (!library) return nullptr;
  const VersionedSymbol table = tunerTable(*library);
  if (table.object != nullptr) return std::make_shared<Tuner>(std::move(library), table, job, log);
  log->info(Subsystem::kInit, "{}: {} has no {}{} to {}{}", kTunerPlugin, library->name(), abi::kTunerSymbol,
            abi::kOldestTuner, abi::kTunerSymbol, abi::kNewestTuner);
  return nullptr;
}

}  // namespace xylem::plugins
