#include "soak/environment.h"

#include <cstdlib>

namespace xylem::soak {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Variables with values to choose from; each is set in at most half of the phases.
struct Choice {
  const char* name;
  int percent;  // how often it is set
  std::vector<const char*> values;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = {
      {"NCCL_PROTO", 50, {"LL", "LL128", "Simple", "^LL"}},
      {"NCCL_PAT_ENABLE", 30, {"0", "1"}},
      {"NCCL_P2P_DISABLE", 40, {"1"}},
      {"NCCL_SHM_DISABLE", 25, {"1"}},
      {"NCCL_P2P_LEVEL", 15, {"LOC", "SYS"}},
      {"NCCL_LL_BUFFSIZE", 15, {"4096", "65536"}},
      {"NCCL_LL128_BUFFSIZE", 15, {"15360", "122880"}},
      {"NCCL_MIN_NCHANNELS", 25, {"2", "3", "4"}},
      {"NCCL_MAX_NCHANNELS", 15, {"1", "2", "5"}},
      {"NCCL_P2P_LL_THRESHOLD", 20, {"0", "1000", "1000000"}},
      {"NCCL_P2P_NET_CHUNKSIZE", 15, {"4096", "30000"}},
      {"NCCL_P2P_PCI_CHUNKSIZE", 15, {"4096", "30000"}},
      {"NCCL_CHUNK_SIZE", 10, {"1024", "50000"}},
      {"NCCL_NCHANNELS_PER_NET_PEER", 20, {"1", "2", "4"}},
      {"NCCL_MAX_P2P_NCHANNELS", 15, {"1", "2"}},
      {"NCCL_SOCKET_NTHREADS", 15, {"1", "2"}},
      {"NCCL_NSOCKS_PERTHREAD", 15, {"1", "3"}},
      {"NCCL_NET_DISABLE_INTRA", 10, {"1"}},
      {"XYLEM_COPY_CHOICES",
       70,
       {"default", "default read_from=1 read_up_to=1000000000",
        "default read_from=5000 read_up_to=70000 piece=4096 staged=32 whole=64",
        "default,read_from=1,read_up_to=100000000,block_read_from=1,block_read_up_to=100000000,"
        "reduce_read_from=1,reduce_read_up_to=100000000",
        "default,read_from=20000,read_up_to=200000,block_read_from=20000,block_read_up_to=200000,"
        "reduce_read_from=20000,reduce_read_up_to=200000,adapt=1",
        "default piece=20000 whole=10000000 cycle=2000000 staged=32768 stream_message=0 stream_exchange=0", "default,adapt=1",
        "default,far=1 stream_far=1"}},
      {"XYLEM_COPY_THREADS", 20, {"1", "2", "4"}},
  };
  return all;
}

std::string algorithms(Random& random) {
  return random.pick({"", "", "Ring", "allreduce:Tree", "Ring,Tree", "allgather:PAT;allreduce:Tree",
                      "allgather:PAT;allreduce:Ring"});
}

// Null if phases choose it.
const std::string* given(const std::string& name) {
  const auto found = givenVariables().find(name);
  return found == givenVariables().end() ? nullptr : &found->second;
}

bool hasPat(const std::string& algorithms) { return algorithms.find("PAT") != std::string::npos; }

// All ranks on one host, a host for each, or some ranks on each.
std::vector<std::string> hostsOf(Random& random, int ranks) {
  const int hosts = random.pick({1, 1, 1, 2, 3, ranks});
  std::vector<std::string> names;
  if (hosts == 1) return names;
  const bool inTurns = random.chance(30);
  for (int rank = 0; rank < ranks; ++rank)
    names.push_back("soak-host-" + std::to_string(inTurns ? rank % hosts : rank * hosts / ranks));
  return names;
}

}  // namespace

std::mutex& environmentMutex() {
  static std::mutex mutex;
  return mutex;
}

const std::map<std::string, std::string>& givenVariables() {
  static const std::map<std::string, std::string> all = [] {
    std::vector<const char*> names = {"NCCL_ALGO", "NCCL_BUFFSIZE", "NCCL_HOSTID"};
    for (const Choice& choice : choices()) names.push_back(choice.name);
    std::map<std::string, std::string> found;
    for (const char* name : names)
      if (const char* value = std::getenv(name)) found.emplace(name, value);
    return found;
  }();
  return all;
}

// Given variables leave everything else that a seed chooses as it is, but for what they rule out.
Environment chooseEnvironment(Random& random, int ranks) {
  Environment environment;
  Variables& set = environment.variables;
  std::string algo = algorithms(random);
  if (const std::string* value = given("NCCL_ALGO"))
    algo = *value;
  else if (hasPat(algo) && (given("NCCL_PAT_ENABLE") != nullptr || given("NCCL_PROTO") != nullptr))
    algo = "";
  set.emplace_back("NCCL_ALGO", algo);
  for (const Choice& choice : choices()) {
    const bool used = random.chance(choice.percent);
    const int which = random.below(static_cast<int>(choice.values.size()));
    set.emplace_back(choice.name, used ? choice.values[static_cast<std::size_t>(which)] : "");
  }
  // Tiny buffers make many steps, so messages have to be smaller.
  int buffer = random.pick({0, 0, 0, 0, 1 << 20, 65536, 10000, 4096});
  if (const std::string* value = given("NCCL_BUFFSIZE")) buffer = std::atoi(value->c_str());
  set.emplace_back("NCCL_BUFFSIZE", buffer == 0 ? "" : std::to_string(buffer));
  const std::size_t most =
      random.pick<std::size_t>({16 << 10, 64 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20});
  environment.mostBytes = buffer != 0 && buffer < 65536 ? std::min<std::size_t>(most, 256 << 10) : most;
  // It knows one protocol, and must be asked for where hosts have several ranks.
  if (hasPat(algo))
    for (auto& [name, value] : set) {
      if (name == "NCCL_PAT_ENABLE") value = "1";
      if (name == "NCCL_PROTO") value = "";
    }
  environment.hosts = hostsOf(random, ranks);
  if (given("NCCL_HOSTID") != nullptr) environment.hosts.clear();
  std::erase_if(set, [](const auto& variable) { return given(variable.first) != nullptr; });
  return environment;
}

}  // namespace xylem::soak
