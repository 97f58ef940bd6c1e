#include "planner/topology/select_nets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/interface_list.h"
#include "core/setting_values.h"
#include "planner/topology/detect_files.h"

namespace xylem::topology {

// Interfaces are named by the kernel or its administrators; RDMA devices by their drivers (mlx5_0, rdmap0).
bool isInterface(const std::string& name, int port) {
  if (name.starts_with("ib")) return port == 0;
  constexpr const char* kPrefixes[] = {"eth", "en", "bond", "br", "docker", "veth", "lo", "wl", "ipogif"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

namespace {

// Merged devices are called by the names of all their parts: one that is selected keeps the device.
bool isSelected(const Document& document, ElementId net, const Settings& settings) {
  const std::string name = document.text(net, "name");
  if (name.empty()) return true;
  const int written = parseInt(document.text(net, "port"), 0);
  const int port = std::max(written, 1);
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '+');) {
    if (isInterface(part, written)) {
      if (interfaceMatches(settings.text(Setting::kSocketIfname), part)) return true;
    } else if (settings.integer(Setting::kIbDisable) == 0 &&
               hcaMatches(settings.text(Setting::kIbHca), part, port)) {
      return true;
    }
  }
  return false;
}

void collectNets(const Document& document, ElementId element, std::vector<ElementId>& nets) {
  if (document[element].name == "net") nets.push_back(element);
  for (const ElementId child : document[element].children) collectNets(document, child, nets);
}

}  // namespace

namespace {

// NCCL_IB_HCA: `^` in front excludes, `=` asks for whole names; entries `name:port:rail:plane`, of which all but the name may be
// empty or missing. NCCL reads the first 32 entries.
struct HcaList {
  struct Entry {
    std::string name;
    int port = -1, rail = -1, plane = -1;
  };
  bool exclude = false, exact = false;
  std::vector<Entry> entries;

  explicit HcaList(std::string_view text) {
    exclude = text.starts_with('^');
    if (exclude) text.remove_prefix(1);
    exact = text.starts_with('=');
    if (exact) text.remove_prefix(1);
    std::istringstream items{std::string(text)};
    for (std::string item; entries.size() < kMaxListedPorts && std::getline(items, item, ',');) {
      if (item.empty()) continue;
      std::istringstream fields(item);
      Entry entry;
      std::getline(fields, entry.name, ':');
      for (int* number : {&entry.port, &entry.rail, &entry.plane})
        // A port that is no number is none that a device has.
        if (std::string field; std::getline(fields, field, ':') && !field.empty())
          *number = parseInt(field, number == &entry.port ? kNoPort : -1);
      entries.push_back(std::move(entry));
    }
  }

  const Entry* find(const std::string& name, int port) const {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      const bool sameName = exact ? name == entry.name : name.starts_with(entry.name);
      return sameName && (entry.port == -1 || entry.port == port);
    });
    return found == entries.end() ? nullptr : &*found;
  }

 private:
  static constexpr int kNoPort = -2;
};

}  // namespace

bool hcaMatches(const std::string& list, const std::string& name, int port) {
  const HcaList wanted(list);
  return (wanted.entries.empty() && list.find(',') == std::string::npos) ||
         (wanted.find(name, port) != nullptr) != wanted.exclude;
}

NetPlace placeOf(const std::string& list, const std::string& name, int port) {
  const HcaList wanted(list);
  const HcaList::Entry* entry = wanted.exclude ? nullptr : wanted.find(name, port);
  return entry == nullptr ? NetPlace{} : NetPlace{entry->rail, entry->plane};
}

namespace {

// Numbers the network devices from 0 on; those that have one number together keep that.
void renumber(Document& document) {
  std::vector<ElementId> nets;
  collectNets(document, document.root(), nets);
  std::map<int, std::vector<ElementId>> byNumber;
  for (const ElementId net : nets) byNumber[parseInt(document.text(net, "dev"), 0)].push_back(net);
  int number = 0;
  for (const auto& [dev, same] : byNumber) {
    for (const ElementId net : same) document.set(net, "dev", std::to_string(number));
    ++number;
  }
}

// "NCCL_IB_HCA=mlx5_0 and NCCL_IB_DISABLE=0 select": those of the variables that are set, with a verb.
std::string selectingVariables(const Settings& settings) {
  std::vector<std::string> variables;
  for (const Setting setting : {Setting::kIbDisable, Setting::kIbHca, Setting::kSocketIfname})
    if (settings.isSet(setting))
      variables.push_back(fmt::format("{}={}", spec(setting).name, settings.text(setting)));
  return fmt::format("{} select{}", fmt::join(variables, " and "), variables.size() == 1 ? "s" : "");
}

}  // namespace

Document selectNets(Document document, const Settings& settings, std::vector<std::string>* remarks,
                    std::vector<std::string>* warnings) {
  std::vector<ElementId> nets;
  collectNets(document, document.root(), nets);
  std::size_t left = 0;
  std::vector<std::string> names;  // as they were
  for (const ElementId net : nets) {
    names.push_back(document.text(net, "name"));
    if (isSelected(document, net, settings)) {
      ++left;
      continue;
    }
    // A card without ports goes, too.
    ElementId leaving = net;
    while (document[document[leaving].parent].children.size() == 1 &&
           (document[document[leaving].parent].name == "nic" || document[leaving].name == "nic") &&
           document[document[leaving].parent].name != "cpu")
      leaving = document[leaving].parent;
    document.detach(leaving);
  }
  if (left < nets.size()) renumber(document);
  if (remarks != nullptr && left < nets.size())
    remarks->push_back(fmt::format("{} of {} NICs, as {}", left, nets.size(), selectingVariables(settings)));
  if (warnings != nullptr && left == 0 && !nets.empty())
    warnings->push_back(fmt::format("{} no NIC: hosts are planned without a network; there are {}",
                                    selectingVariables(settings), fmt::join(names, ", ")));
  return document;
}

}  // namespace xylem::topology
