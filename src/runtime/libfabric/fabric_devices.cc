#include "runtime/libfabric/fabric_devices.h"

#include <fmt/ranges.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

namespace xylem::libfabric {
namespace {

constexpr int kMaxLinks = 65536;
// The length of a written message travels as the data of a completion, which needs 4 bytes.
constexpr std::size_t kMinCompletionData = 4;
constexpr std::size_t kMaxKeyBytes = 8;
constexpr std::size_t kBitsPerMbit = 1'000'000;

constexpr std::string_view kDefault[] = {"efa", "cxi", "verbs", "opx", "psm2", "tcp"};
// Providers without hardware: writing into the receiver's memory is work of the receiver's processor.
constexpr std::string_view kSoftware[] = {"tcp", "net", "sockets", "udp", "shm", "sm2"};
// Providers whose devices are network interfaces.
constexpr std::string_view kOverInterfaces[] = {"tcp", "net", "sockets", "udp"};

template <typename Names>
bool isOneOf(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string_view providerOf(const fi_info& info) {
  const std::string_view layers = info.fabric_attr->prov_name;
  return layers.substr(0, layers.find(';'));
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');)
    if (!item.empty()) items.push_back(item);
  return items;
}

// The features that endpoints must have.
struct Wanted {
  std::uint64_t capabilities;
  std::uint64_t flags;  // of send operations
};

FabricInfo hintsFor(const std::string& provider, const Wanted& wanted) {
  FabricInfo hints = FabricLibrary::instance().emptyInfo();
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  hints->caps = wanted.capabilities;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  // FabricEndpoint locks: one thread calls at a time.
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->tx_attr->op_flags = wanted.flags;
  return hints;
}

bool fits(const fi_info& info, std::string_view provider) {
  return providerOf(info) == provider && info.src_addr != nullptr;
}

const sockets::Interface* interfaceOf(const fi_info& info,
                                      const std::vector<sockets::Interface>& interfaces) {
  if (info.addr_format != FI_SOCKADDR && info.addr_format != FI_SOCKADDR_IN &&
      info.addr_format != FI_SOCKADDR_IN6)
    return nullptr;
  const sockets::SocketAddress at(static_cast<const sockaddr*>(info.src_addr),
                                  static_cast<socklen_t>(info.src_addrlen));
  const auto found = std::find_if(interfaces.begin(), interfaces.end(),
                                  [&](const sockets::Interface& one) { return one.address.sameHostAs(at); });
  return found == interfaces.end() ? nullptr : &*found;
}

int speedOfInterface(const std::string& name) {
  int speed = 0;
  std::ifstream("/sys/class/net/" + name + "/speed") >> speed;
  return speed > 0 ? speed : transport::kUnknownMbits;
}

std::string pciPathOf(const fid_nic* nic) {
  if (nic == nullptr || nic->bus_attr == nullptr || nic->bus_attr->bus_type != FI_BUS_PCI) return {};
  const fi_pci_attr& at = nic->bus_attr->attr.pci;
  return fmt::format("/sys/bus/pci/devices/{:04x}:{:02x}:{:02x}.{:x}", at.domain_id, at.bus_id, at.device_id,
                     at.function_id);
}

transport::NetProperties propertiesOf(const fi_info& info, const std::string& name, int device) {
  transport::NetProperties properties;
  properties.name = name;
  properties.pciPath = pciPathOf(info.nic);
  properties.guid = static_cast<std::uint64_t>(device);
  const std::size_t bits =
      info.nic != nullptr && info.nic->link_attr != nullptr ? info.nic->link_attr->speed : 0;
  properties.speed = bits > 0 ? static_cast<int>(bits / kBitsPerMbit) : speedOfInterface(name);
  properties.maxLinks = kMaxLinks;
  properties.maxBytes = std::min<std::size_t>(info.ep_attr->max_msg_size, 0xffff'ffffu);
  // Nothing is sent from users' buffers, as there is no way to make a provider stop reading from them.
  properties.needsRegistration = true;
  return properties;
}

bool canWrite(const fi_info& info) {
  return (info.caps & FI_RMA) != 0 && info.domain_attr->cq_data_size >= kMinCompletionData &&
         info.domain_attr->mr_key_size <= kMaxKeyBytes;
}

bool wantsWrites(const FabricOptions& options, const std::string& provider) {
  return options.write == 1 || (options.write != 0 && !isOneOf(kSoftware, provider));
}

std::vector<FabricDevice> devicesOf(const std::string& provider, const FabricOptions& options,
                                    const Wanted& wanted) {
  const FabricLibrary& library = FabricLibrary::instance();
  const FabricInfo list = library.find(*hintsFor(provider, wanted));
  std::vector<FabricDevice> devices;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
    if (!fits(*info, provider)) continue;
    std::string name = info->domain_attr->name;
    std::optional<sockets::SocketAddress> address;
    if (isOneOf(kOverInterfaces, provider)) {
      const sockets::Interface* interface = interfaceOf(*info, options.interfaces);
      if (interface == nullptr) continue;
      name = interface->name;
      address = interface->address;
    }
    const auto known = [&](const FabricDevice& device) { return device.properties.name == name; };
    if (std::any_of(devices.begin(), devices.end(), known)) continue;
    FabricDevice device;
    device.provider = provider;
    device.properties = propertiesOf(*info, name, static_cast<int>(devices.size()));
    device.address = address;
    device.info = library.copyOf(info);
    device.software = isOneOf(kSoftware, provider);
    device.delivers = (wanted.flags & FI_DELIVERY_COMPLETE) != 0;
    device.writes = device.delivers && wantsWrites(options, provider) && canWrite(*info);
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

FabricOptions FabricOptions::from(const Settings& settings) {
  FabricOptions options;
  options.providers = split(settings.text(Setting::kFabricProvider));
  options.interfaces = sockets::matchingInterfaces(sockets::listInterfaces(), settings);
  options.write = static_cast<int>(settings.integer(Setting::kFabricWrite));
  return options;
}

std::vector<FabricDevice> findFabricDevices(const FabricOptions& options) {
  std::vector<std::string> providers = options.providers;
  if (providers.empty()) providers.assign(std::begin(kDefault), std::end(kDefault));
  for (const std::string& provider : providers) {
    // From the best features to the least that will do.
    const std::uint64_t most = wantsWrites(options, provider) ? FI_TAGGED | FI_RMA : FI_TAGGED;
    for (const Wanted& wanted : {Wanted{most, FI_DELIVERY_COMPLETE}, Wanted{FI_TAGGED, FI_DELIVERY_COMPLETE},
                                 Wanted{FI_TAGGED, 0}}) {
      std::vector<FabricDevice> devices = devicesOf(provider, options, wanted);
      if (!devices.empty()) return devices;
    }
  }
  throw Error(
      ResultCode::kSystemError,
      "libfabric has no device of provider {} with reliable endpoints and tagged messages (fi_info -t "
      "FI_EP_RDM lists what there is)",
      fmt::join(providers, ", "));
}

}  // namespace xylem::libfabric
