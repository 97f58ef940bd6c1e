#include "comparison/host_pair.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "comparison/child_process.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

constexpr const char* kCongestion = "net.ipv4.tcp_congestion_control";
constexpr const char* kInside = "hostname \"$0\" && exec \"$@\"";

}  // namespace

HostPair::HostPair(std::string folder, const std::string& congestion)
    : folder_(std::move(folder)), launcher_(folder_ + "/launcher") {
  for (const char* side : {"a", "b"}) names_.push_back(fmt::format("xylem-bench-{}-{}", getpid(), side));
  try {
    for (const std::string& name : names_) ip("netns add " + name);
    ip(fmt::format("link add eth0 netns {} type veth peer name eth0 netns {}", names_[0], names_[1]));
    for (int host = 0; host < 2; ++host) {
      ip(fmt::format("-n {} address add {}/24 dev eth0", name(host), address(host)));
      for (const char* interface : {"lo", "eth0"})
        ip(fmt::format("-n {} link set {} up", name(host), interface));
      if (!congestion.empty())
        ip(fmt::format("netns exec {} sysctl -qw {}={}", name(host), kCongestion, congestion));
    }
  } catch (const Error&) {
    remove();
    throw;
  }
  // Open MPI passes ssh's options before the host, and one text for the shell; MPICH passes words.
  std::ofstream(launcher_)
      << "#!/bin/sh\n"
         "while [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
         "host=$1; shift\n"
         "exec ip netns exec \"$host\" unshare -u sh -c 'hostname \"$0\" && eval \"$1\"' "
         "\"$host\" \"$*\"\n";
  std::filesystem::permissions(launcher_, std::filesystem::perms::owner_all);
}

HostPair::~HostPair() { remove(); }

// The cable disappears with its ends.
void HostPair::remove() noexcept {
  for (const std::string& name : names_) {
    try {
      ip("netns del " + name);
    } catch (const std::exception&) {  // the namespace was never made
    }
  }
}

std::string HostPair::address(int host) { return fmt::format("10.214.0.{}", host + 1); }

std::vector<std::string> HostPair::inside(int host, const std::vector<std::string>& words) const {
  std::vector<std::string> all{"ip", "netns", "exec", name(host), "unshare",
                               "-u", "sh",    "-c",   kInside,    name(host)};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::string HostPair::congestion() const {
  std::string text =
      runToEnd({{"ip", "netns", "exec", name(0), "sysctl", "-n", kCongestion}, {}}, folder_ + "/ip.log");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::uint64_t HostPair::movedBytes() const {
  const auto links = nlohmann::json::parse(
      runToEnd({{"ip", "-n", name(0), "-s", "-j", "link", "show", "eth0"}, {}}, folder_ + "/ip.log"));
  const auto& counts = links.at(0).at("stats64");
  return counts.at("tx").at("bytes").get<std::uint64_t>() + counts.at("rx").at("bytes").get<std::uint64_t>();
}

void HostPair::ip(const std::string& words) const {
  CommandLine command{{"ip"}, {}};
  std::istringstream in(words);
  for (std::string word; in >> word;) command.words.push_back(word);
  runToEnd(command, folder_ + "/ip.log");
}

}  // namespace xylem::bench
