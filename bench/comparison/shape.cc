#include "comparison/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "comparison/host_pair.h"
#include "comparison/mailbox_limit.h"
#include "comparison/mapped_limit.h"
#include "comparison/process_contender.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words rankProgram(const Place& place, const std::string& program, const std::string& socket) {
  Words words{place.programs + "/" + program, "--socket", socket};
  if (!place.cores.empty())
    words = joined(words, {"--cores", fmt::format("{}", fmt::join(place.cores, ",")), "--each",
                           std::to_string(place.shape.each)});
  return words;
}

std::vector<CommandLine> ours(const std::string& name, const Place& place, const std::string& socket) {
  const bool threads = name == "threads";
  const int ranks = place.shape.ranks, processes = threads ? 1 : ranks;
  const int each = ranks / processes;
  std::vector<CommandLine> commands;
  for (int process = 0; process < processes; ++process) {
    const int first = process * each;
    const bool alone = place.hosts != nullptr;  // rank on its host
    Words words = joined(rankProgram(place, "bench_rank_xylem", socket),
                         {"--ranks", std::to_string(ranks), "--first", std::to_string(first), "--count",
                          std::to_string(each), "--first-device", std::to_string(alone ? 0 : first)});
    if (name == "processes") words.push_back("--nccl-memory");
    Environment environment{{"XYLEM_HOST_DEVICES", std::to_string(alone ? 1 : ranks)}};
    if (alone) {
      words = place.hosts->inside(process, words);
      environment.push_back({"NCCL_HOSTID", place.hosts->name(process)});
      environment.push_back({"NCCL_SOCKET_IFNAME", "=eth0"});
    }
    commands.push_back({words, environment});
  }
  return commands;
}

std::vector<CommandLine> openMpi(const Place& place, const std::string& socket, bool ucx) {
  Words words{"mpirun.openmpi",
              "--allow-run-as-root",
              "--oversubscribe",
              "--bind-to",
              "none",
              "-n",
              std::to_string(place.shape.ranks)};
  Environment environment;
  words = joined(words, {"--mca", "mpi_yield_when_idle", place.cores.empty() ? "1" : "0"});
  // Without the last two, UCX is used only for networks of its own kind.
  if (ucx)
    words = joined(words, {"--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca",
                           "opal_common_ucx_devices", "any"});
  if (place.hosts != nullptr) {
    words = joined(words, {"--host", place.hosts->name(0) + "," + place.hosts->name(1), "--mca",
                           "plm_rsh_agent", place.hosts->launcher(), "--mca", "oob_tcp_if_include", "eth0"});
    if (ucx)
      words = joined(words, {"-x", "UCX_TLS=tcp,self", "-x", "UCX_NET_DEVICES=eth0", "--mca", "osc", "ucx"});
    else
      words = joined(
          words, {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0"});
  }
  words = joined(words, rankProgram(place, "bench_rank_openmpi", socket));
  if (place.hosts != nullptr) words = place.hosts->inside(0, words);
  return {{words, environment}};
}

std::vector<CommandLine> mpich(const Place& place, const std::string& socket) {
  Words words{"mpirun.mpich", "-n", std::to_string(place.shape.ranks)};
  // 0: never.
  if (!place.cores.empty()) words = joined(words, {"-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD", "0"});
  if (place.hosts != nullptr)
    words = joined(words, {"-hosts", place.hosts->name(0) + "," + place.hosts->name(1), "-launcher", "ssh",
                           "-launcher-exec", place.hosts->launcher(), "-iface", "eth0", "-genv", "UCX_TLS",
                           "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0"});
  words = joined(words, rankProgram(place, "bench_rank_mpich", socket));
  if (place.hosts != nullptr) words = place.hosts->inside(0, words);
  return {{words, {}}};
}

std::vector<CommandLine> tcp(const Place& place, const std::string& socket, bool sleeps) {
  std::vector<CommandLine> commands;
  for (int rank = 0; rank < 2; ++rank) {
    Words words = joined(rankProgram(place, "bench_rank_tcp", socket),
                         {"--rank", std::to_string(rank), "--address", HostPair::address(0)});
    if (sleeps) words.push_back("--sleep");
    commands.push_back({place.hosts->inside(rank, words), {}});
  }
  return commands;
}

std::vector<CommandLine> launchOf(const std::string& name, const Place& place, const std::string& socket) {
  if (name == "openmpi") return openMpi(place, socket, false);
  if (name == "openmpi-ucx") return openMpi(place, socket, true);
  if (name == "mpich") return mpich(place, socket);
  if (name == "tcp") return tcp(place, socket, false);
  if (name == "tcp-sleeping") return tcp(place, socket, true);
  return ours(name, place, socket);
}

bool isProgram(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

bool isInPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (isProgram(folder + "/" + program)) return true;
  return false;
}

}  // namespace

std::optional<Shape> shapeNamed(std::string_view text) {
  if (text == "hosts") return Shape{Shape::kTwoHosts, 2};
  constexpr int kMostEach = 64;
  for (const int ranks : {2, 4, 8})
    for (int each = 1; each <= kMostEach; ++each)
      if (const Shape shape{Shape::kOneHost, ranks, each}; text == shape.name()) return shape;
  return std::nullopt;
}

std::vector<Entry> entriesOf(const Shape& shape) {
  std::vector<Entry> entries;
  const bool hosts = shape.kind == Shape::kTwoHosts;
  if (!hosts) entries.push_back({"threads", Role::kOurs, "Xylem, ranks are threads of one process"});
  entries.push_back({"processes", Role::kOurs, "Xylem, processes, buffers from ncclMemAlloc"});
  entries.push_back({"malloc", Role::kOurs, "Xylem, processes, buffers from malloc"});
  entries.push_back({"openmpi", Role::kPeer, hosts ? "Open MPI over TCP" : "Open MPI"});
  entries.push_back({"openmpi-ucx", Role::kPeer, "Open MPI with UCX"});
  entries.push_back({"mpich", Role::kPeer, "MPICH"});
  if (hosts) {
    entries.push_back({"tcp", Role::kLimit, "one TCP connection, both ways at once"});
    entries.push_back({"tcp-sleeping", Role::kLimit, "the same, asleep while there is nothing"});
  } else {
    if (shape.ranks == 2)
      entries.push_back({"mailbox", Role::kLimit, "two cores, messages in mapped memory"});
    entries.push_back({"mapped", Role::kLimit, "two cores, all memory mapped"});
    entries.push_back({"mapped-streaming", Role::kLimit, "the same with streaming stores"});
  }
  return entries;
}

std::string missingFor(const Entry& entry, const Place& place) {
  if (entry.name == "mailbox" || entry.name.starts_with("mapped"))
    return place.pair != nullptr ? "" : "needs two cores";
  const bool isOpenMpi = entry.name.starts_with("openmpi");
  std::string program = place.programs + "/bench_rank_";
  if (entry.role == Role::kPeer)
    program += isOpenMpi ? "openmpi" : "mpich";
  else
    program += entry.role == Role::kOurs ? "xylem" : "tcp";
  if (!isProgram(program)) return program + " is not built: were its packages there when CMake ran?";
  const std::string launcher = isOpenMpi ? "mpirun.openmpi" : "mpirun.mpich";
  if (entry.role == Role::kPeer && !isInPath(launcher)) return launcher + " is not in PATH";
  return "";
}

std::unique_ptr<Contender> start(const Entry& entry, const Place& place) {
  if (entry.name == "mailbox") return std::make_unique<MailboxLimit>(*place.pair);
  if (entry.name == "mapped")
    return std::make_unique<MappedLimit>(*place.pair, place.shape.ranks, Stores::kPlain);
  if (entry.name == "mapped-streaming")
    return std::make_unique<MappedLimit>(*place.pair, place.shape.ranks, Stores::kStreaming);
  ProcessContender::Options options;
  options.ranks = place.shape.ranks;
  options.hasResults = entry.role != Role::kLimit;
  options.pipelined = place.pipelined;
  options.rewrites = place.rewrites;
  options.ownCores = !place.cores.empty();
  options.together = options.ownCores && place.shape.kind == Shape::kOneHost;
  options.folder = place.folder;
  return std::make_unique<ProcessContender>(entry.name, entry.role, options, [&](const std::string& socket) {
    return launchOf(entry.name, place, socket);
  });
}

}  // namespace xylem::bench
