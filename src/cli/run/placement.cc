#include "cli/run/placement.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <tuple>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/host_name.h"
#include "runtime/launch/unusual_port.h"

namespace xylem::cli {
namespace {

constexpr int kMaxRanksPerHost = 4096;

std::string trimmed(const std::string& word) {
  constexpr const char* kBlanks = " \t";
  const std::size_t first = word.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : word.substr(first, word.find_last_not_of(kBlanks) - first + 1);
}

RunHost parseHost(const std::string& word) {
  // Colons within brackets belong to an IPv6 address.
  const std::size_t bracket = word.rfind(']');
  const std::size_t colon = word.find(':', bracket == std::string::npos ? 0 : bracket);
  RunHost host{word.substr(0, colon), 0};
  bool good = !host.name.empty() && host.name.front() != '-';
  if (colon != std::string::npos) {
    const char* last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data() + colon + 1, last, host.ranks);
    good = good && error == std::errc() && end == last && host.ranks >= 1 && host.ranks <= kMaxRanksPerHost;
  }
  if (!good)
    throw InputError({"--hosts", 0}, "`" + word + "`",
                     fmt::format("a host, or host:ranks with 1 to {} ranks", kMaxRanksPerHost));
  return host;
}

}  // namespace

std::vector<RunHost> parseRunHosts(const std::string& text) {
  std::vector<RunHost> hosts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const RunHost host = parseHost(trimmed(text.substr(at, comma - at)));
    at = comma + 1;
    const auto same = std::ranges::find(hosts, host.name, &RunHost::name);
    if (same == hosts.end())
      hosts.push_back(host);
    else
      same->ranks = same->ranks == 0 || host.ranks == 0 ? 0 : same->ranks + host.ranks;
  }
  return hosts;
}

std::vector<RankPlace> placeRanks(const std::vector<RunHost>& hosts, int ranks) {
  int claimed = 0;
  int open = 0;
  for (const RunHost& host : hosts) {
    claimed += host.ranks;
    open += host.ranks == 0 ? 1 : 0;
  }
  if (ranks == 0 && open > 0)
    throw InputError({"-n", 0}, "nothing",
                     "the number of ranks, or one for each of the hosts: --hosts a:2,b:2");
  if (ranks == 0) ranks = claimed;
  if (open == 0 && ranks > claimed)
    throw InputError({"-n", 0}, fmt::format("{} ranks", ranks),
                     fmt::format("at most the {} that --hosts has room for", claimed));
  int rest = std::max(ranks - claimed, 0);
  std::vector<RankPlace> places;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    int here = hosts[i].ranks;
    if (here == 0) {
      // An even share of the rest; the first of the open hosts get the larger shares.
      here = (rest + open - 1) / open;
      --open;
      rest -= here;
    }
    here = std::min(here, ranks - static_cast<int>(places.size()));
    for (int local = 0; local < here; ++local)
      places.push_back({hosts[i].name, static_cast<int>(i), local, here});
  }
  return places;
}

namespace {

constexpr int kMaxCpus = 8192;

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeSet>;
const std::size_t kSetBytes = CPU_ALLOC_SIZE(kMaxCpus);

CpuSet emptySet() {
  CpuSet set(CPU_ALLOC(kMaxCpus));
  CPU_ZERO_S(kSetBytes, set.get());
  return set;
}

// A number from the kernel's description of the CPU; -1 if there is none.
int topologyNumber(int cpu, const char* file) {
  int number = -1;
  std::ifstream(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, file)) >> number;
  return number;
}

}  // namespace

std::vector<int> usableCpus() {
  const CpuSet set = emptySet();
  if (sched_getaffinity(0, kSetBytes, set.get()) != 0) return {};
  std::vector<std::tuple<int, int, int>> places;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu)
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), kSetBytes, set.get()))
      places.emplace_back(topologyNumber(cpu, "physical_package_id"), topologyNumber(cpu, "core_id"), cpu);
  std::sort(places.begin(), places.end());
  std::vector<int> cpus;
  for (const auto& place : places) cpus.push_back(std::get<2>(place));
  return cpus;
}

std::vector<int> shareOf(const std::vector<int>& cpus, int part, int parts) {
  const auto count = static_cast<int>(cpus.size());
  if (count == 0) return {};
  if (count < parts) return {cpus[static_cast<std::size_t>(part % count)]};
  return {cpus.begin() + static_cast<std::ptrdiff_t>(count) * part / parts,
          cpus.begin() + static_cast<std::ptrdiff_t>(count) * (part + 1) / parts};
}

bool bindTo(const std::vector<int>& cpus) {
  const CpuSet set = emptySet();
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), kSetBytes, set.get());
  return sched_setaffinity(0, kSetBytes, set.get()) == 0;
}

namespace {

constexpr std::size_t kSecretBytes = 32;

template <std::size_t N>
std::array<unsigned char, N> randomBytes() {
  std::array<unsigned char, N> bytes;
  if (getrandom(bytes.data(), N, 0) != static_cast<ssize_t>(N))
    throw Error(ResultCode::kSystemError, "no random bytes for a secret: {}", errnoText(errno));
  return bytes;
}

std::string newSecret() {
  std::string text;
  for (const unsigned char byte : randomBytes<kSecretBytes>()) text += fmt::format("{:02x}", byte);
  return text;
}

int unusualPort() {
  const auto bytes = randomBytes<2>();
  return xylem::launch::unusualPort(bytes[0] * 256u + bytes[1]);
}

// A port that is free now and that the kernel gives to no outgoing connection before it is used. `socket`
// holds the port: while it is open, a second call returns another one.
int freePort(FileDescriptor& socket) {
  constexpr int kTries = 64;
  for (int tries = 0; tries <= kTries; ++tries) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(tries < kTries ? unusualPort() : 0));  // 0: any
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    socket = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket && bind(socket.get(), any, size) == 0 && getsockname(socket.get(), any, &size) == 0)
      return ntohs(address.sin_port);
  }
  throw Error(ResultCode::kSystemError, "cannot find a free port: {}; choose one with --port",
              errnoText(errno));
}

std::string variableOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// The host's name without `user@` and without the brackets of an IPv6 address.
std::string bareName(std::string host) {
  host.erase(0, host.find('@') == std::string::npos ? 0 : host.find('@') + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

bool isThisHost(const std::string& name) {
  const std::string own = hostName();
  return name == "localhost" || name == own || name == own.substr(0, own.find('.'));
}

RunMeeting meetingFor(const std::vector<RankPlace>& places, int port) {
  RunMeeting meeting;
  meeting.ranks = static_cast<int>(places.size());
  const bool firstIsHere = isThisHost(places.front().host);
  const bool allAreHere = std::all_of(places.begin(), places.end(),
                                      [](const RankPlace& place) { return isThisHost(place.host); });
  meeting.address = allAreHere ? "127.0.0.1" : firstIsHere ? hostName() : bareName(places.front().host);
  int second = port + 1;
  if (port == 0 && firstIsHere) {
    FileDescriptor one, two;
    port = freePort(one);
    second = freePort(two);
  } else if (port == 0) {
    port = unusualPort();
    second = port + 1;
  }
  meeting.masterPort = port;
  const bool isIpv6 = meeting.address.find(':') != std::string::npos;
  meeting.commId = variableOr(
      "NCCL_COMM_ID", fmt::format(fmt::runtime(isIpv6 ? "[{}]:{}" : "{}:{}"), meeting.address, second));
  meeting.secret = variableOr("XYLEM_SECRET", newSecret());
  return meeting;
}

bool isSetByRun(const std::string& name) {
  const Variables all = rankVariables({}, 0, {});
  return name == "XYLEM_SECRET" ||
         std::any_of(all.begin(), all.end(), [&](const auto& variable) { return variable.first == name; });
}

Variables rankVariables(const RankPlace& place, int rank, const RunMeeting& meeting) {
  const std::string number = std::to_string(rank);
  const std::string size = std::to_string(meeting.ranks);
  const std::string local = std::to_string(place.localRank);
  const std::string localSize = std::to_string(place.localRanks);
  return {
      {"RANK", number},
      {"WORLD_SIZE", size},
      {"LOCAL_RANK", local},
      {"LOCAL_WORLD_SIZE", localSize},
      {"MASTER_ADDR", meeting.address},
      {"MASTER_PORT", std::to_string(meeting.masterPort)},
      {"OMPI_COMM_WORLD_RANK", number},
      {"OMPI_COMM_WORLD_SIZE", size},
      {"OMPI_COMM_WORLD_LOCAL_RANK", local},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", localSize},
      {"PMI_RANK", number},
      {"PMI_SIZE", size},
      {"MPI_LOCALRANKID", local},
      {"MPI_LOCALNRANKS", localSize},
      {"NCCL_COMM_ID", meeting.commId},
  };
}

}  // namespace xylem::cli
