#include "runtime/launch/rendezvous_method.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "core/slurm_lists.h"
#include "runtime/launch/pmix_client.h"
#include "runtime/launch/unusual_port.h"

namespace xylem::launch {
namespace {

constexpr int kLastPort = 65535;

std::string valueOf(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

// A name that no other job on this host has, made of the launcher's variables. Empty if there are none.
std::string jobName(const LaunchedProcess& process, const Environment& environment) {
  const auto of = [&](std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names)
      if (environment(name) != nullptr)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, environment(name));
    return text;
  };
  if (process.variable == "RANK")
    return of({"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"});
  if (process.variable == "SLURM_PROCID") return of({"SLURM_JOB_ID", "SLURM_STEP_ID"});
  return of({"OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri", "PMIX_NAMESPACE", "PMIX_SERVER_URI2"});
}

std::string withPort(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

// The port next to torchrun's own, where its store listens. Empty if MASTER_ADDR or MASTER_PORT is not
// usable.
std::string besideMaster(const Environment& environment) {
  const std::string host = valueOf(environment, "MASTER_ADDR");
  const int port = std::atoi(valueOf(environment, "MASTER_PORT").c_str());
  if (host.empty() || port < 1 || port > kLastPort) return "";
  return withPort(host, port < kLastPort ? port + 1 : port - 1);
}

std::string ofSlurmStep(const Environment& environment) {
  const std::string host = firstSlurmHost(valueOf(environment, "SLURM_STEP_NODELIST"));
  const std::string job = valueOf(environment, "SLURM_JOB_ID"), step = valueOf(environment, "SLURM_STEP_ID");
  if (host.empty() || job.empty() || step.empty()) return "";
  // Steps of a job, and jobs that share a host, have consecutive numbers. The factor gives them different
  // ports.
  constexpr std::uint64_t kStepsApart = 131;
  return withPort(host, unusualPort(std::strtoull(job.c_str(), nullptr, 10) * kStepsApart +
                                    std::strtoull(step.c_str(), nullptr, 10)));
}

// True if this process is the first on the step's first host. With --distribution=arbitrary that can be any
// process, and the others cannot tell which.
bool isFirstOfSlurmStep(const LaunchedProcess& process, const Environment& environment) {
  return valueOf(environment, "SLURM_NODEID") == "0" && process.localRank == 0;
}

}  // namespace

// In order of preference: the user's own address, the launcher's store, a socket on the only host, an address
// that all processes can compute.
RendezvousMethod rendezvousMethod(const LaunchedProcess& process, const Environment& environment) {
  if (process.size == 1) return {RendezvousMethod::kAlone, ""};
  if (environment("NCCL_COMM_ID") != nullptr) return {RendezvousMethod::kGiven, ""};
  // A launcher's store serves the ranks of that launcher only: torchrun may run below mpirun.
  const bool isSlurm = process.variable == "SLURM_PROCID";
  if ((process.variable == "PMI_RANK" || isSlurm) && environment("PMI_FD") != nullptr)
    return {RendezvousMethod::kPmi, ""};
  if (process.variable != "RANK" && process.variable != "PMI_RANK" && PmixClient::isUsable(environment))
    return {RendezvousMethod::kPmix, ""};
  if (process.knowsHost && process.localSize == process.size)
    if (const std::string name = jobName(process, environment); !name.empty())
      return {RendezvousMethod::kLocal, name};
  const std::string address = isSlurm                      ? ofSlurmStep(environment)
                              : process.variable == "RANK" ? besideMaster(environment)
                                                           : "";
  if (address.empty()) return {};
  const bool listens = isSlurm ? isFirstOfSlurmStep(process, environment) : process.rank == 0;
  return {RendezvousMethod::kAddress, address, listens};
}

}  // namespace xylem::launch
