#include "hosts/host_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace xylem::testing {
namespace {

constexpr int kPort = 4711;
constexpr int kPortsPerAttempt = 100;
constexpr std::chrono::seconds kPatience{60};

std::map<std::string, void (*)(const Seat&)>& roles() {
  static std::map<std::string, void (*)(const Seat&)> all;
  return all;
}

std::string textOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string addressOf(int host, bool six, int port) {
  return six ? fmt::format("[{}]:{}", Namespaces::address6(host), port)
             : fmt::format("{}:{}", Namespaces::address(host), port);
}

bool appears(const std::filesystem::path& file) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (; !std::filesystem::exists(file); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

// Environment variables of every process of the job, except its rank.
using Environment = std::map<std::string, std::string>;

int becomeRank(const Environment& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execl("/proc/self/exe", "hosts_test", "--gtest_filter=RankProcess.Role", "--gtest_brief=1", nullptr);
  return 127;
}

Seat seatOfThisProcess() {
  Seat seat;
  seat.rank = std::stoi(variable("XYLEM_TEST_RANK"));
  std::istringstream hosts(variable("XYLEM_TEST_HOSTS"));
  for (int host; hosts >> host;) seat.hostOfRank.push_back(host);
  seat.folder = variable("XYLEM_TEST_FOLDER");
  seat.six = variable("NCCL_SOCKET_FAMILY") == "AF_INET6";
  return seat;
}

TEST(RankProcess, Role) {
  const std::string role = variable("XYLEM_TEST_ROLE");
  if (role.empty()) return;
  const auto found = roles().find(role);
  ASSERT_NE(found, roles().end()) << role;
  const Seat seat = seatOfThisProcess();
  SCOPED_TRACE(fmt::format("rank {} on host {}", seat.rank, seat.host()));
  ASSERT_EQ(cudaSetDevice(seat.localRank()), cudaSuccess);
  found->second(seat);
}

}  // namespace

Machine hostDevices(int devices, int nics) {
  std::string text =
      "<system version=\"1\">\n"
      "  <cpu numaid=\"0\" affinity=\"ffff\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"175\" "
      "modelid=\"17\">\n";
  for (int d = 0; d < devices; ++d)
    text += fmt::format(
        "    <pci busid=\"00ff:{:02x}:00.0\" class=\"0x030200\" link_speed=\"2.5 GT/s PCIe\" "
        "link_width=\"16\">\n"
        "      <gpu dev=\"{}\" sm=\"90\" gdr=\"0\" host=\"1\"><c2c bw=\"20000\" count=\"1\"/></gpu>\n"
        "    </pci>\n",
        d, d);
  if (nics > 0) text += "    <nic>\n";
  for (int n = 0; n < nics; ++n)
    text += fmt::format("      <net name=\"{}\" dev=\"{}\" speed=\"25000\" port=\"0\" guid=\"0x{:x}\"/>\n",
                        Namespaces::interface(n), n, 7 + n);
  if (nics > 0) text += "    </nic>\n";
  return text + "  </cpu>\n</system>\n";
}

Machine zoo(const std::string& name) {
  return textOf(std::filesystem::path(XYLEM_SOURCE_DIR) / "topologies" / (name + ".xml"));
}

int Seat::localRank() const {
  return static_cast<int>(std::count(hostOfRank.begin(), hostOfRank.begin() + rank, host()));
}

std::vector<int> Seat::all() const {
  std::vector<int> all;
  for (int r = 0; r < ranks(); ++r) all.push_back(r);
  return all;
}

ncclComm_t Seat::join() const { return joinAmong(all()); }

ncclComm_t Seat::joinAmong(const std::vector<int>& members) const {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(tryToJoin(members, 0, comm), ncclSuccess) << ncclGetLastError(nullptr);
  return comm;
}

ncclResult_t Seat::tryToJoin(const std::vector<int>& members, int attempt, ncclComm_t& comm) const {
  const int first = hostOfRank[static_cast<std::size_t>(members.front())];
  setenv("NCCL_COMM_ID", addressOf(first, six, kPort + members.front() + attempt * kPortsPerAttempt).c_str(),
         1);
  ncclUniqueId id;
  const auto mine = std::find(members.begin(), members.end(), rank) - members.begin();
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
  return ncclCommInitRank(&comm, static_cast<int>(members.size()), id, static_cast<int>(mine));
}

void Seat::mark(const std::string& what) const {
  std::ofstream(std::filesystem::path(folder) / fmt::format("{}.{}", what, rank)) << "";
}

void Seat::await(const std::string& what) const {
  EXPECT_TRUE(appears(std::filesystem::path(folder) / what)) << what;
}

Role::Role(const std::string& name, void (*body)(const Seat&)) { roles()[name] = body; }

HostJob::HostJob(const Namespaces& hosts, const std::string& role, const JobShape& shape) {
  Environment environment{
      {"XYLEM_TEST_ROLE", role},          {"XYLEM_TEST_FOLDER", folder_ / ""},
      {"XYLEM_SECRET", "of these hosts"}, {"XYLEM_HOST_DEVICES", "8"},
      {"NCCL_SOCKET_IFNAME", "eth0"},     {"NCCL_SOCKET_FAMILY", shape.six ? "AF_INET6" : "AF_INET"}};
  for (const auto& [name, value] : shape.variables) environment[name] = value;
  for (const int host : shape.hostOfRank) environment["XYLEM_TEST_HOSTS"] += std::to_string(host) + " ";
  for (std::size_t host = 0; host < shape.machines.size(); ++host)
    std::ofstream(folder_ / fmt::format("machine.{}", host)) << shape.machines[host];
  for (std::size_t rank = 0; rank < shape.hostOfRank.size(); ++rank) {
    const int host = shape.hostOfRank[rank];
    Environment own = environment;
    own["XYLEM_TEST_RANK"] = std::to_string(rank);
    own["NCCL_HOSTID"] = fmt::format("host-{}", host);
    own["NCCL_DEBUG_FILE"] = folder_ / fmt::format("log.{}", rank);
    if (!shape.machines[static_cast<std::size_t>(host)].empty())
      own["NCCL_TOPO_FILE"] = folder_ / fmt::format("machine.{}", host);
    processes_.push_back(hosts.start(host, [&] { return becomeRank(own); }));
  }
}

HostJob::~HostJob() {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank] <= 0) continue;
    kill(static_cast<int>(rank));
    wait(static_cast<int>(rank));
  }
}

bool HostJob::reached(const std::string& mark) const {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank)
    if (!reached(mark, static_cast<int>(rank))) return false;
  return true;
}

bool HostJob::reached(const std::string& mark, int rank) const {
  return appears(folder_ / fmt::format("{}.{}", mark, rank));
}

void HostJob::announce(const std::string& what) const { std::ofstream(folder_ / what) << ""; }

void HostJob::kill(int rank, int signal) const { ::kill(processes_[static_cast<std::size_t>(rank)], signal); }

int HostJob::wait(int rank, int seconds) {
  pid_t& process = processes_[static_cast<std::size_t>(rank)];
  const int status = waitFor(process, seconds);
  process = -1;
  return status;
}

std::string HostJob::log(int rank) const { return textOf(folder_ / fmt::format("log.{}", rank)); }

}  // namespace xylem::testing
