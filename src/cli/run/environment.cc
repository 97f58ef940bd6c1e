#include "cli/run/environment.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "core/error.h"
#include "core/host_name.h"
#include "core/file_descriptor.h"
#include "runtime/launch/unusual_port.h"

namespace xylem::cli {
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
  return xylem::unusualPort(bytes[0] * 256u + bytes[1]);
}

// Free at the time of asking, and not one that an outgoing connection gets before it is used. Holding on to
// `socket` keeps a second call from getting the same.
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

// The name without the user that ssh may be told, and without its brackets.
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
