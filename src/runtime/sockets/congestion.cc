#include "runtime/sockets/congestion.h"

// The tcp_info of netinet/tcp.h is older and lacks tcpi_min_rtt.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::sockets {
namespace {

// Shorter round trips are those inside of one data centre.
constexpr unsigned kShortMicroseconds = 1000;
// Congestion controls that do not pace: the default of most systems, and the one that every kernel has and
// lets every process use.
constexpr std::array<const char*, 2> kUnpaced = {"cubic", "reno"};
constexpr std::size_t kMaxNameBytes = 16;

bool use(int socket, const std::string& name) noexcept {
  return setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.c_str(), static_cast<socklen_t>(name.size())) ==
         0;
}

std::string usedBy(int socket) {
  std::array<char, kMaxNameBytes> name{};
  socklen_t size = name.size() - 1;
  if (getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) != 0) return "";
  return name.data();
}

std::string allowed() {
  std::string line;
  std::ifstream file("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
  std::getline(file, line);
  return line;
}

FileDescriptor trialSocket() {
  FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) fd = FileDescriptor(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) throw Error(ResultCode::kSystemError, "cannot open a TCP socket: {}", errnoText(errno));
  return fd;
}

}  // namespace

Congestion::Congestion(const std::string& choice) {
  if (choice == "system") return;
  const FileDescriptor trial = trialSocket();
  systems_ = usedBy(trial.get());
  if (choice != "auto") {
    if (!use(trial.get(), choice))
      throw Error(
          ResultCode::kInvalidUsage,
          "XYLEM_TCP_CONGESTION: this system does not let its sockets use `{}`: {}; it allows: {} (or "
          "auto, or system)",
          choice, errnoText(errno), allowed());
    chosen_ = choice;
    return;
  }
  if (!systems_.starts_with("bbr")) return;
  for (const char* unpaced : kUnpaced)
    if (chosen_.empty() && use(trial.get(), unpaced)) chosen_ = unpaced;
  onlyShortTrips_ = !chosen_.empty();
}

void Congestion::prepare(int socket) const noexcept {
  if (!chosen_.empty()) use(socket, chosen_);
}

void Congestion::settle(int socket) const noexcept {
  if (!onlyShortTrips_) return;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
  if (info.tcpi_min_rtt >= kShortMicroseconds) use(socket, systems_);
}

}  // namespace xylem::sockets
