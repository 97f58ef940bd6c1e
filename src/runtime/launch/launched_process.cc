#include "runtime/launch/launched_process.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/slurm_lists.h"
#include "runtime/launch/pmix_client.h"

namespace xylem::launch {
namespace {

// The variables of one launcher. `mark` must be set, too: without it the others may only mean that an
// allocation exists.
struct Names {
  const char* rank;
  const char* size;
  const char* localRank;
  const char* localSize;
  const char* mark;
};
constexpr Names kLaunchers[] = {
    // In this order: torchrun, which mpirun or srun may have started on each host; Open MPI; MPICH and Intel
    // MPI; xylem run and others that set torchrun's variables; Slurm, which with --mpi=pmi2 sets PMI's
    // variables, too, but not those for ranks on the host; other launchers with PMI.
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_SRUN_COMM_PORT"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_RANK"},
};
constexpr const char* kSlurmTasks = "SLURM_STEP_TASKS_PER_NODE";
constexpr const char* kSlurmNode = "SLURM_NODEID";

bool isUnset(const Environment& environment, const char* name) {
  const char* const text = environment(name);
  return text == nullptr || *text == '\0';
}

std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return std::nullopt;
  const char* end = text + std::strlen(text);
  int value = 0;
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<int> localSize(const Environment& environment, const Names& names) {
  if (names.localSize != nullptr) return number(environment, names.localSize);
  const char* tasks = environment(kSlurmTasks);
  if (tasks == nullptr) return std::nullopt;
  return slurmTasksOn(tasks, number(environment, kSlurmNode).value_or(0));
}

}  // namespace

std::optional<LaunchedProcess> launchedProcess(const Environment& environment) {
  for (const Names& names : kLaunchers) {
    if (environment(names.mark) == nullptr || isUnset(environment, names.rank) ||
        isUnset(environment, names.size))
      continue;
    const auto rank = number(environment, names.rank);
    const auto size = number(environment, names.size);
    if (!rank || !size) {
      const char* const wrong = rank ? names.size : names.rank;
      throw InputError({wrong, 0}, fmt::format("`{}`", environment(wrong)),
                       fmt::format("a whole number, as launchers set {} and {}", names.rank, names.size));
    }
    if (*size < 1 || *rank < 0 || *rank >= *size)
      throw InputError({names.rank, 0}, fmt::format("{} with {}={}", *rank, names.size, *size),
                       "the number of one process of a job, from 0 to its size less 1");
    LaunchedProcess process{*rank, *size, 0, 1, names.rank};
    process.localRank = number(environment, names.localRank).value_or(*rank);
    const auto local = localSize(environment, names);
    process.localSize = local.value_or(*size);
    process.knowsHost = local.has_value();
    return process;
  }
  if (!PmixClient::isOffered(environment)) return std::nullopt;
  if (!PmixClient::kept()) PmixClient::kept() = std::make_unique<PmixClient>();
  return PmixClient::kept()->process();
}

}  // namespace xylem::launch
