#include "runtime/launch/slurm_cluster.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <sstream>

#include "core/error.h"
#include "runtime/launch/shell.h"

namespace xylem::testing {
namespace {

constexpr int kCoresPerNode = 8;  // independent of the machine's own number
constexpr const char* kPrograms[] = {"munged", "slurmctld", "slurmd", "srun"};

// Debian keeps daemons in folders that are not on a user's PATH.
const std::string kPath = "export PATH=$PATH:/usr/sbin:/sbin; ";

std::string textOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

std::string SlurmCluster::unavailable() {
  for (const char* program : kPrograms)
    if (!isInstalled(std::string(program) + " || command -v /usr/sbin/" + program))
      return fmt::format("{} is not installed", program);
  if (geteuid() != 0) return "Slurm's daemons need root, to become the user of a job";
  return NamedHosts::unavailable();
}

SlurmCluster::SlurmCluster(const NamedHosts& hosts, const std::vector<std::string>& names) {
  configure(names);
  const std::string conf = folder_ / "slurm.conf";
  login_ = hosts.on(0) + "env SLURM_CONF=" + conf + " ";
  start(hosts.on(0) +
            fmt::format("munged --foreground --force --socket={0}/munge.socket --key-file={0}/munge.key "
                        "--pid-file={0}/munge.pid --seed-file={0}/munge.seed",
                        (folder_ / "").string()),
        "munged");
  await(fmt::format("test -S {}", (folder_ / "munge.socket").string()));
  start(hosts.on(0) + "slurmctld -D -f " + conf, "slurmctld");
  for (std::size_t host = 0; host < names.size(); ++host)
    start(hosts.on(static_cast<int>(host)) + "slurmd -D -f " + conf + " -N " + names[host], names[host]);
  await(fmt::format("test \"$({} sinfo --noheader --states=idle --format=%D)\" = {}", login_, names.size()));
}

void SlurmCluster::configure(const std::vector<std::string>& names) const {
  {
    std::ofstream key(folder_ / "munge.key", std::ios::binary);
    std::random_device random;
    for (int byte = 0; byte < 128; ++byte) key.put(static_cast<char>(random()));
  }
  std::filesystem::permissions(folder_ / "munge.key", std::filesystem::perms::owner_read);
  std::string all;
  for (const std::string& name : names) {
    all += (all.empty() ? "" : ",") + name;
    std::filesystem::create_directory(folder_ / (name + ".tmp"));
  }
  std::filesystem::create_directory(folder_ / "state");
  const std::string folder = folder_ / "";
  std::ofstream(folder_ / "slurm.conf")
      << "ClusterName=xylem\nSlurmctldHost=" << names.front() << "\nSlurmUser=root\nSlurmdUser=root\n"
      << "AuthType=auth/munge\nAuthInfo=socket=" << folder << "munge.socket\nCredType=cred/munge\n"
      << "StateSaveLocation=" << folder << "state\nSlurmdSpoolDir=" << folder << "%n\n"
      << "SlurmctldPidFile=" << folder << "slurmctld.pid\nSlurmdPidFile=" << folder << "%n.pid\n"
      << "TmpFS=" << folder << "%n.tmp\n"  // where nodes keep PMIx's files
      << "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n"
      << "AccountingStorageType=accounting_storage/none\nSwitchType=switch/none\nMpiDefault=none\n"
      << "SchedulerType=sched/builtin\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
      << "SlurmdParameters=config_overrides\nReturnToService=2\nKillWait=5\n"
      << "NodeName=" << all << " CPUs=" << kCoresPerNode << " State=UNKNOWN\n"
      << "PartitionName=all Nodes=ALL Default=YES State=UP\n";
}

void SlurmCluster::start(const std::string& line, const std::string& log) {
  const std::string command =
      kPath + "exec " + line + " >" + (folder_ / (log + ".log")).string() + " 2>&1 </dev/null";
  const pid_t daemon = fork();
  if (daemon < 0) throw Error(ResultCode::kSystemError, "cannot fork: {}", errnoText(errno));
  if (daemon == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  daemons_.emplace_back(daemon);
}

void SlurmCluster::await(const std::string& condition) const {
  const Ended ended =
      shellForHosts("for try in $(seq 600); do " + condition + " && exit 0; sleep 0.1; done; exit 1");
  if (ended.status != 0)
    throw Error(ResultCode::kSystemError, "the cluster does not start: {}\n{}", ended.output, logs());
}

std::string SlurmCluster::logs() const {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / ""))
    if (entry.path().extension() == ".log")
      text += entry.path().stem().string() + ":\n" + textOf(entry.path());
  return text;
}

}  // namespace xylem::testing
