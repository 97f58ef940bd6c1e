#include "insight/fabric/attachments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/edit_distance.h"
#include "core/error.h"

namespace xylem::fabric {
namespace {

// Splits "mlx5_0+mlx5_1" into mlx5_0 and mlx5_1.
std::vector<std::string> partsOf(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('+', at), name.size());
    parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<int> portsOf(const FabricHost& host, const TrafficNic& nic) {
  std::vector<int> ports;
  for (const std::string& part : partsOf(nic.name))
    for (std::size_t i = 0; i < host.ports.size(); ++i)
      if (host.ports[i].nic == part) ports.push_back(static_cast<int>(i));
  const std::string number = std::to_string(nic.dev);
  if (ports.empty())
    for (std::size_t i = 0; i < host.ports.size(); ++i)
      if (host.ports[i].nic == number) ports.push_back(static_cast<int>(i));
  return ports;
}

[[noreturn]] void refuseNic(const Fabric& fabric, const FabricHost& host, const TrafficNic& nic) {
  std::set<std::string> known;
  for (const FabricPort& port : host.ports) known.insert(port.nic);
  throw InputError({fabric.file, 0},
                   fmt::format("host `{}` with the NICs {}", host.name, fmt::join(known, ", ")),
                   fmt::format("`{}`, which the plan uses, or `{}` for NET {}", nic.name, nic.dev, nic.dev));
}

bool isUsed(const TrafficNic& nic) {
  return std::any_of(nic.planned.begin(), nic.planned.end(), [](double planned) { return planned > 0; });
}

}  // namespace

Attachments::Attachments(const Fabric& fabric, const FabricGraph& network,
                         const std::vector<std::string>& names, const connect::Job& job,
                         const Traffic& traffic)
    : fabric_(fabric) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < fabric.hosts.size(); ++i) known[fabric.hosts[i].name] = i;
  std::set<std::string> taken;
  for (std::size_t host = 0; host < names.size(); ++host) {
    const auto found = known.find(names[host]);
    if (found == known.end()) {
      std::vector<std::string> all;
      for (const FabricHost& other : fabric.hosts) all.push_back(other.name);
      const std::string near = all.size() <= 4096 ? nearestWord(names[host], all) : "";
      throw InputError({fabric.file, 0}, fmt::format("no host `{}`", names[host]),
                       near.empty() ? "every host of the job" : fmt::format("`{}`, perhaps", near));
    }
    if (!taken.insert(names[host]).second)
      throw InputError({"the list of hosts", 0}, fmt::format("`{}` twice", names[host]), "every host once");
    const FabricHost& fabricHost = fabric.hosts[found->second];
    const connect::HostShape& shape = job.shapeOf(static_cast<int>(host));
    hosts_.push_back(found->second);
    auto& ports = ports_.emplace_back(traffic.nics.size());
    auto& bandwidth = bandwidth_.emplace_back(traffic.nics.size(), 0.0);
    for (std::size_t n = 0; n < traffic.nics.size(); ++n) {
      const TrafficNic& nic = traffic.nics[n];
      const bool has =
          std::find(shape.viewOfLocal.begin(), shape.viewOfLocal.end(), nic.view) != shape.viewOfLocal.end();
      if (!has || !isUsed(nic)) continue;
      const std::vector<int> own = portsOf(fabricHost, nic);
      if (own.empty()) refuseNic(fabric, fabricHost, nic);
      for (int port : own) {
        ports[n].push_back(network.port(static_cast<int>(found->second), port));
        bandwidth[n] += fabricHost.ports[static_cast<std::size_t>(port)].bandwidth;
      }
    }
  }
}

}  // namespace xylem::fabric
