#include "insight/fabric/ib_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "insight/fabric/fabric_builder.h"
#include "insight/fabric/ib_records.h"
#include "insight/fabric/name_ranges.h"

namespace xylem {
namespace {

// What the adapter inside of a switch that computes collectives is called.
constexpr std::string_view kAggregation = "Aggregation Node";

// "MF0;leaf1:MQM8700/U1" -> leaf1, as managed switches describe themselves.
std::string_view switchNameIn(std::string_view description) {
  if (const std::size_t at = description.find(';'); at != std::string_view::npos) {
    description.remove_prefix(at + 1);
    description = description.substr(0, description.find(':'));
  }
  return description;
}

struct Adapter {
  std::string host, nic;
};

// "node1 mlx5_0", "node1 HCA-1" or "node1", which is then its n-th NIC and called by that number.
std::optional<Adapter> adapterIn(std::string_view description) {
  if (description.ends_with(kAggregation)) return std::nullopt;
  const std::size_t blank = description.find(' ');
  const std::string_view host = description.substr(0, blank);
  std::string nic(blank == std::string_view::npos ? "" : description.substr(blank + 1));
  if (!isPlainName(host) || (!nic.empty() && !isPlainName(nic))) return std::nullopt;
  constexpr std::string_view kOldForm = "HCA-";
  if (nic.starts_with(kOldForm)) {
    int number = 0;
    const auto [end, error] = std::from_chars(nic.data() + kOldForm.size(), nic.data() + nic.size(), number);
    if (error == std::errc() && end == nic.data() + nic.size() && number >= 1)
      nic = fmt::format("mlx5_{}", number - 1);
  }
  return Adapter{std::string(host), std::move(nic)};
}

class IbImport {
 public:
  IbImport(const IbRecords& records, const std::string& file, std::vector<std::string>* remarks)
      : records_(records), file_(file), remarks_(remarks), fabric_(file) {}

  Fabric build() && {
    nameSwitches();
    nameAdapters();
    for (const IbCable& cable : records_.cables) add(cable);
    return std::move(fabric_).finish();
  }

 private:
  void nameSwitches() {
    std::unordered_map<std::string_view, int> users;
    for (const std::string& id : records_.order)
      if (id.front() == 'S') ++users[switchNameIn(records_.nodes.at(id).description)];
    for (const std::string& id : records_.order) {
      if (id.front() != 'S') continue;
      const IbNode& node = records_.nodes.at(id);
      const std::string_view name = switchNameIn(node.description);
      // An id may be another's description, so that a plain name must not look like one.
      const bool useName = isPlainName(name) && users[name] == 1 && !name.starts_with("S-");
      names_[id] = useName ? std::string(name) : id;
      fabric_.addSwitch(names_[id], {file_, node.line});
    }
  }

  void nameAdapters() {
    std::unordered_map<std::string, int> counts;
    for (const std::string& id : records_.order) {
      if (id.front() != 'H') continue;
      const IbNode& node = records_.nodes.at(id);
      std::optional<Adapter> adapter = adapterIn(node.description);
      if (!adapter) {
        if (remarks_ != nullptr)
          remarks_->push_back(fmt::format("{}:{}: left out: `{}` does not name a host and its NIC", file_,
                                          node.line, node.description));
        continue;
      }
      const int count = counts[adapter->host]++;
      if (adapter->nic.empty()) adapter->nic = std::to_string(count);
      adapters_[id] = std::move(*adapter);
    }
  }

  void add(const IbCable& cable) {
    const SourceLocation where = {file_, cable.line};
    const auto [a, b] = cable.a.front() == 'S' ? std::pair(cable.a, cable.b) : std::pair(cable.b, cable.a);
    if (a.front() != 'S' || b.front() == 'R') return;  // between adapters, or to another fabric
    if (b.front() == 'S') {
      // Two ports of a switch joined to each other lead nowhere.
      if (a != b) fabric_.addCables(names_.at(a), names_.at(b), cable.bandwidth, 1, where);
    } else if (const auto adapter = adapters_.find(b); adapter != adapters_.end()) {
      fabric_.addPort(adapter->second.host, adapter->second.nic, names_.at(a), cable.bandwidth, where);
    }
  }

  const IbRecords& records_;
  const std::string& file_;
  std::vector<std::string>* remarks_;
  FabricBuilder fabric_;
  std::unordered_map<std::string, std::string> names_;  // of switches, by id
  std::unordered_map<std::string, Adapter> adapters_;   // by id
};

}  // namespace

bool looksLikeIbnetdiscover(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    for (const std::string_view start : {"Switch\t", "Switch ", "Ca\t", "Ca ", "vendid="})
      if (line.starts_with(start)) return true;
    if (!line.empty() && line.front() != '#' && line.front() != '\r') return false;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

Fabric parseIbnetdiscover(std::string_view text, const std::string& file, std::vector<std::string>* remarks) {
  const IbRecords records = readIbRecords(text, file);
  Fabric fabric = IbImport(records, file, remarks).build();
  if (fabric.hosts.empty())
    throw InputError({file, 0}, "no host at a switch", "adapters whose description is HOST NIC");
  return fabric;
}

}  // namespace xylem
