#pragma once
// The settings that steer the tuning model and the choice, read once, and the language of NCCL_ALGO and
// NCCL_PROTO.
//
//   const Settings settings = Settings::fromPairs({{"NCCL_ALGO", "ring;allreduce:^tree"}});
//   TuningOptions::from(settings).algorithms[Collective::kAllReduce][Algorithm::kTree]   ->   false

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kinds.h"
#include "planner/tuning/host_model.h"

namespace xylem {
class Settings;
}
namespace xylem::tuning {

// LL128 works only on machines that keep the order of 128-byte stores; kDecide leaves it to the model.
enum class Enabled : int { kNo = 0, kYes = 1, kDecide = 2 };

struct TuningOptions {
  ByCollective<ByAlgorithm<bool>> algorithms;   // NCCL_ALGO
  ByCollective<ByProtocol<Enabled>> protocols;  // NCCL_PROTO
  std::string algorithmList, protocolList;      // their texts; empty if they are not set
  int pat = 2;                                  // NCCL_PAT_ENABLE: 2 leaves it to the job
  std::optional<float> netOverhead;             // microseconds; NCCL_NET_OVERHEAD
  // NCCL_THREAD_THRESHOLDS, in bytes: with less per thread, an operation gets fewer threads and channels.
  ByProtocol<std::optional<std::int64_t>> treeThreshold, ringThreshold;
  int threads = 0, ll128Threads = 0;       // NCCL_NTHREADS, NCCL_LL128_NTHREADS; 0 leaves it to the job
  ByProtocol<std::int64_t> bufferBytes{};  // of a connection
  std::int64_t nvlsChunkBytes = 0;         // NCCL_NVLS_CHUNKSIZE
  std::optional<std::int64_t> nvlsTreeMaxChunkBytes;  // NCCL_NVLSTREE_MAX_CHUNKSIZE
  HostModel host;                                     // XYLEM_HOST_MODEL

  TuningOptions();
  // Throws InputError, naming the variable, for a text that cannot be understood.
  static TuningOptions from(const Settings& settings);
};

// For each collective of a list, whether each name is wanted; empty for a collective that the list leaves
// alone.
using UserList = ByCollective<std::vector<bool>>;

// Parses a list of algorithms or protocols. Entries are separated by `;`. An entry is
// `[collective:]name,name…`, and `^` in front of the names means "all but". Case does not matter. Only the
// first entry may leave out the collective; it then holds for all. `names` are those that may stand in the
// list; messages name `origin` as the place of the text. Throws InputError.
//
//   UserList list = parseUserList("ring;allreduce:^tree", names, "NCCL_ALGO");   // names: "Tree", "Ring", …
//   list[Collective::kAllReduce][0]   ->   false: Tree is excluded
UserList parseUserList(std::string_view text, std::span<const char* const> names, const std::string& origin);

}  // namespace xylem::tuning
