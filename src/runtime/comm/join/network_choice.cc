#include "runtime/comm/join/network_choice.h"

#include <strings.h>

#include <algorithm>
#include <filesystem>

#include "runtime/libfabric/fabric_network.h"
#include "runtime/plugins/plugin_network.h"
#include "runtime/transport/net/socket/socket_network.h"

namespace xylem::comm {
namespace {

constexpr const char* kSocketName = "Socket";
constexpr const char* kFabricName = "Fabric";

bool same(const std::string& a, const std::string& b) { return strcasecmp(a.c_str(), b.c_str()) == 0; }

// The bus id at the end of a path below /sys; empty for virtual devices.
std::string busIdOf(const std::string& pciPath) {
  if (pciPath.empty()) return {};
  const std::string last = std::filesystem::path(pciPath).filename().string();
  return std::count(last.begin(), last.end(), ':') == 2 ? last : "";
}

bool hasDevice(const plugins::CollPlugin& plugin, const std::string& name) {
  for (int device = 0; device < plugin.deviceCount(); ++device)
    if (plugin.properties(device).name == name) return true;
  return false;
}

}  // namespace

NetworkChoice NetworkChoice::of(const Settings& settings, const std::string& asked,
                                const std::shared_ptr<const Logger>& log) {
  const std::string wanted = settings.isSet(Setting::kNet) ? settings.text(Setting::kNet) : asked;
  NetworkChoice choice;
  plugins::NetPluginChoice plugins =
      plugins::chooseNetPlugin({settings.text(Setting::kNetPlugin), wanted}, log);
  if (plugins.plugin) {
    choice.kind_ = Kind::kPlugin;
    choice.plugin_ = std::move(plugins.plugin);
    log->info(Subsystem::kInit, "Using network {}", choice.plugin_->name());
    if (settings.integer(Setting::kCollnetEnable) == 1) choice.collective_ = choice.plugin_->collective(log);
  } else if (wanted.empty() || same(wanted, kSocketName)) {
    choice.kind_ = Kind::kSocket;
  } else if (same(wanted, kFabricName)) {
    choice.takeFabric(settings, *log);
  } else {
    choice.reason_ = fmt::format("there is no network `{}` ({}); there is: {}, {}", wanted,
                                 settings.isSet(Setting::kNet) ? "NCCL_NET" : "ncclConfig_t.netName",
                                 kSocketName, kFabricName);
    for (const std::string& refused : plugins.refused) choice.reason_ += "; " + refused;
  }
  return choice;
}

void NetworkChoice::takeFabric(const Settings& settings, const Logger& log) {
  try {
    fabric_ = std::make_shared<const std::vector<libfabric::FabricDevice>>(
        libfabric::findFabricDevices(libfabric::FabricOptions::from(settings)));
    kind_ = Kind::kFabric;
    log.info(Subsystem::kInit, "Using network {}: libfabric, provider {}, {}", kFabricName,
             fabric_->front().provider, fabric_->front().writes ? "writes" : "tagged messages");
  } catch (const Error& error) {
    reason_ = fmt::format("network {}: {}", kFabricName, error.what());
  }
}

std::unique_ptr<transport::Network> NetworkChoice::make(const NetworkUser& user, const Settings& settings,
                                                        const Logger& log) const {
  switch (kind_) {
    case Kind::kPlugin:
      return std::make_unique<plugins::PluginNetwork>(
          plugin_, plugins::NetUser{communicatorId(user.secret), user.trafficClass});
    case Kind::kSocket:
      return std::make_unique<transport::SocketNetwork>(transport::SocketOptions::from(settings), user.secret,
                                                        log);
    case Kind::kFabric:
      return std::make_unique<libfabric::FabricNetwork>(*fabric_);
    case Kind::kNone:
      break;
  }
  throw Error(ResultCode::kInvalidUsage, "{}", reason_);
}

std::shared_ptr<transport::CollNetwork> NetworkChoice::reducing(const sockets::Secret& secret) const {
  if (!collective_) return nullptr;
  return std::make_shared<plugins::PluginCollNetwork>(plugin_, collective_, communicatorId(secret));
}

// Empty if the devices are the host's interfaces.
std::vector<transport::NetProperties> NetworkChoice::properties() const {
  std::vector<transport::NetProperties> all;
  if (kind_ == Kind::kPlugin)
    for (int i = 0; i < plugin_->deviceCount(); ++i) all.push_back(plugin_->properties(i));
  if (kind_ == Kind::kFabric)
    for (const libfabric::FabricDevice& device : *fabric_) all.push_back(device.properties);
  return all;
}

std::optional<std::vector<topology::NetDevice>> NetworkChoice::devices(unsigned gpu) const {
  if (kind_ != Kind::kPlugin && kind_ != Kind::kFabric) return std::nullopt;
  std::vector<topology::NetDevice> devices;
  for (const transport::NetProperties& read : properties()) {
    topology::NetDevice device;
    device.name = read.name;
    device.busId = busIdOf(read.pciPath);
    device.speed = read.speed > 0 ? read.speed : transport::kUnknownMbits;
    device.port = read.port;
    device.guid = read.guid;
    device.maxConnections = read.maxLinks;
    device.gdr = (read.pointers & gpu) != 0;
    if (collective_) device.reduces = hasDevice(*collective_, read.name);
    devices.push_back(std::move(device));
  }
  return devices;
}

NetworkName NetworkChoice::name() const {
  NetworkName name{};
  std::string text;
  if (kind_ == Kind::kPlugin) text = plugin_->name();
  if (kind_ == Kind::kSocket) text = kSocketName;
  // Different providers of libfabric do not talk to each other, either.
  if (kind_ == Kind::kFabric) text = fmt::format("{}/{}", kFabricName, fabric_->front().provider);
  std::copy_n(text.begin(), std::min(text.size(), name.size() - 1), name.begin());
  return name;
}

void checkSameNetwork(std::span<const NetworkName> names, std::span<const int> ranks) {
  const auto rank = [&](std::size_t i) { return ranks.empty() ? static_cast<int>(i) : ranks[i]; };
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != names.front() && names[i].front() != 0 && names.front().front() != 0)
      throw Error(
          ResultCode::kInvalidUsage,
          "rank {} uses network {}, rank {} network {}: are NCCL_NET and NCCL_NET_PLUGIN the same, and do "
          "both hosts have the plugin, or libfabric's provider?",
          rank(i), names[i].data(), rank(0), names.front().data());
}

}  // namespace xylem::comm
