#include "planner/topology/merge_nics.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "planner/topology/attributes.h"

namespace xylem::topology {
namespace {

// The plane of a merged NIC is this bit, and below it a bit for each plane of its members.
constexpr std::size_t kPlaneBits = 14;
constexpr std::size_t kMaxMembers = 4;  // of a group, as in NCCL

// How far apart two devices are, by the place where their paths to the CPU meet. The order is that of the
// path types; PORT takes the place of NVL.
enum class Distance { kLoc, kPort, kPix, kPxb, kPxn, kPhb, kSys };

Distance levelOf(const std::string& text, const rules::RuleSet& rules) {
  static constexpr std::pair<std::string_view, Distance> kLevels[] = {
      {"LOC", Distance::kLoc}, {"PORT", Distance::kPort}, {"PIX", Distance::kPix}, {"PXB", Distance::kPxb},
      {"PXN", Distance::kPxn}, {"PHB", Distance::kPhb},   {"SYS", Distance::kSys},
  };
  for (const auto& [name, level] : kLevels)
    if (text == name) return level;
  // No two NICs are P2C apart.
  if (text == "P2C" && rules.p2cPaths) return Distance::kPxb;
  throw InputError({"NCCL_NET_MERGE_LEVEL", 0}, "`" + text + "`",
                   fmt::format("LOC, PORT, PIX, PXB,{} PXN, PHB or SYS", rules.p2cPaths ? " P2C," : ""));
}

// First come the groups that the user asks for. Then each device that is left, in order, takes all later ones
// within the level into its group, as long as the group has space.
class NicMerger {
 public:
  NicMerger(Document& document, const std::vector<ElementId>& nets, std::span<const NetDevice> devices,
            const MergeOptions& options, const rules::RuleSet& rules)
      : document_(document), nets_(nets), devices_(devices), options_(options), rules_(rules) {}

  std::vector<ElementId> run() {
    const Distance level = levelOf(options_.level, rules_);
    placed_.assign(nets_.size(), false);
    std::vector<std::vector<std::size_t>> groups = forced(options_.force);
    for (std::size_t first = 0; first < nets_.size(); ++first) {
      if (placed_[first]) continue;
      std::vector<std::size_t> group = groupOf(first, level);
      if (const std::string refusal = refusalOf(group); !refusal.empty()) {
        keepApart(group, refusal);
        first = 0;  // NCCL goes on at the second device: the first one can only join another's group now
        continue;
      }
      for (const std::size_t member : group) placed_[member] = true;
      groups.push_back(std::move(group));
    }
    std::vector<ElementId> used;
    for (std::size_t net = 0; net < nets_.size(); ++net)
      if (!placed_[net] && rules_.numbersMergedNets) used.push_back(nets_[net]);
    std::size_t numbered = 0;
    for (const std::vector<std::size_t>& group : groups) {
      const bool alone = group.size() == 1;
      const ElementId net = alone ? nets_[group[0]] : addVirtual(group);
      if (!alone || !rules_.numbersMergedNets)
        document_.set(net, "dev", std::to_string(nets_.size() + numbered++));
      used.push_back(net);
    }
    return used;
  }

 private:
  // The device and those within the level that no group has, in order, as long as the group has space.
  std::vector<std::size_t> groupOf(std::size_t first, Distance level) const {
    std::vector<std::size_t> group = {first};
    for (std::size_t other = 0; other < nets_.size() && group.size() < kMaxMembers; ++other)
      if (other != first && !placed_[other] && !apart_.contains(std::minmax(first, other)) &&
          distance(first, other) <= level &&
          (!options_.withinRail || !rules_.mergesByRail || sameRail(first, other)))
        group.push_back(other);
    return group;
  }

  // Why NCCL's InfiniBand transport makes no device of the group; empty if it does.
  std::string refusalOf(const std::vector<std::size_t>& group) const {
    if (group.size() == 1) return "";
    if (!options_.mayMerge) return "NCCL_IB_MERGE_NICS=0 forbids it";
    for (const std::size_t member : group)
      if (member < devices_.size() && devices_[member].ethernet != devices_[group[0]].ethernet)
        return "InfiniBand and Ethernet do not mix";
    return "";
  }

  // The group's first device no longer takes the others.
  void keepApart(const std::vector<std::size_t>& group, const std::string& refusal) {
    if (!rules_.apartIfUnmergeable)
      throw InputError({"NCCL_NET_MERGE_LEVEL", 0}, fmt::format("{} ({})", namesOf(group), refusal),
                       fmt::format("LOC: NCCL {} ends if it cannot merge devices within the level",
                                   rules::versionText(rules_.version)));
    for (std::size_t i = 1; i < group.size(); ++i) apart_.insert(std::minmax(group[0], group[i]));
  }

  // The groups of NCCL_NET_FORCE_MERGE.
  std::vector<std::vector<std::size_t>> forced(const std::string& text) {
    std::vector<std::vector<std::size_t>> groups;
    std::istringstream lists(text);
    for (std::string list; std::getline(lists, list, ';');) {
      std::vector<std::size_t> group;
      std::istringstream names(list);
      for (std::string name; std::getline(names, name, ',');) group.push_back(byName(name));
      if (group.size() > kMaxMembers)
        throw InputError({"NCCL_NET_FORCE_MERGE", 0}, fmt::format("{} devices in `{}`", group.size(), list),
                         fmt::format("at most {} devices in a group", kMaxMembers));
      if (const std::string refusal = group.empty() ? "" : refusalOf(group); !refusal.empty())
        throw InputError({"NCCL_NET_FORCE_MERGE", 0}, fmt::format("`{}` ({})", list, refusal),
                         "devices that can be merged");
      if (!group.empty()) groups.push_back(std::move(group));
    }
    return groups;
  }

  // The index of the device, which now belongs to a group.
  std::size_t byName(const std::string& name) {
    for (std::size_t i = 0; i < nets_.size(); ++i) {
      if (*document_.attribute(nets_[i], "name") != name) continue;
      if (placed_[i])
        throw InputError({"NCCL_NET_FORCE_MERGE", 0}, "`" + name + "` twice", "every device at most once");
      placed_[i] = true;
      return i;
    }
    std::string known;
    for (const ElementId net : nets_)
      known += (known.empty() ? "" : ", ") + *document_.attribute(net, "name");
    throw InputError({"NCCL_NET_FORCE_MERGE", 0}, "`" + name + "`",
                     known.empty() ? "RDMA devices: this machine has none" : "one of " + known);
  }

  // The elements from the net's nic up to the system.
  std::vector<ElementId> wayUp(std::size_t net) const {
    std::vector<ElementId> way;
    for (ElementId id = document_[nets_[net]].parent; id != kNoElement; id = document_[id].parent)
      way.push_back(id);
    return way;
  }

  // The lowest element above both devices.
  ElementId meeting(std::size_t a, std::size_t b) const {
    const std::vector<ElementId> way = wayUp(a);
    for (const ElementId id : wayUp(b))
      if (std::find(way.begin(), way.end(), id) != way.end()) return id;
    return document_.root();
  }

  // The device's bus id without its last digit, the function: equal for the functions of one card.
  std::string card(std::size_t net) const {
    const std::string* busId = document_.attribute(document_[document_[nets_[net]].parent].parent, "busid");
    return busId == nullptr || busId->empty() ? "" : busId->substr(0, busId->size() - 1);
  }

  Distance distance(std::size_t a, std::size_t b) const {
    const ElementId common = meeting(a, b);
    const std::string& name = document_[common].name;
    if (name == "nic" || (!card(a).empty() && card(a) == card(b))) return Distance::kPort;
    if (name == "cpu") return Distance::kPhb;
    if (name != "pci") return Distance::kSys;
    // PIX if a single switch is between the cards, so that both are its children.
    const auto hangsOn = [&](std::size_t net) {
      return document_[document_[document_[nets_[net]].parent].parent].parent == common;
    };
    return hangsOn(a) && hangsOn(b) ? Distance::kPix : Distance::kPxb;
  }

  bool sameRail(std::size_t a, std::size_t b) const {
    const auto railOf = [&](std::size_t net) {
      return Attributes(document_, nets_[net]).integer("rail", -1, 1 << 16, -1);
    };
    return railOf(a) >= 0 && railOf(a) == railOf(b);
  }

  ElementId addVirtual(const std::vector<std::size_t>& group) {
    return rules_.numbersMergedNets ? addWhereTheyMeet(group) : addBesideThem(group);
  }

  // The lowest element above all members.
  ElementId meetingOf(const std::vector<std::size_t>& group) const {
    ElementId place = document_[nets_[group[0]]].parent;
    for (const std::size_t member : group)
      while (!isAbove(place, nets_[member])) place = document_[place].parent;
    return place;
  }

  // Adds the virtual device on its members' card, if it is one, else on a made-up card where their ways meet.
  ElementId addWhereTheyMeet(const std::vector<std::size_t>& group) {
    ElementId place = meetingOf(group);
    for (ElementId above = place; document_[above].name != "system"; above = document_[above].parent)
      if (document_[above].name == "pci") {
        place = above;
        break;
      }
    if (document_[place].name == "system") {
      if (!rules_.mergesSockets)
        throw InputError({"NCCL_NET_MERGE_LEVEL", 0}, fmt::format("{} on different sockets", namesOf(group)),
                         "devices of one socket: NCCL since 2.30.7 does not merge others");
      place = cpuOf(nets_[group[0]]);
    }
    const ElementId meeting = place;
    const bool isSwitch =
        document_[place].name == "pci" && Attributes(document_, place).text("class") == "0x060400";
    const bool belowCpu = document_[place].name == "cpu" && rules_.mergedWidth != rules::MergedWidth::kFirst;
    const std::int64_t width = widthOf(group, meeting);
    if (width > 0 && rules_.mergedWidth == rules::MergedWidth::kMembersToo)
      for (const std::size_t member : group) widen(document_[nets_[member]].parent, meeting, width);
    if (isSwitch || belowCpu) place = addCard(place, document_[document_[nets_[group[0]]].parent].parent);
    if (width > 0) {
      if (place != meeting) document_.set(place, "link_width", std::to_string(width));
      if (document_[meeting].name == "pci") document_.set(meeting, "link_width", std::to_string(width));
    }
    ElementId nic = document_[place].name == "nic" ? place : document_.child(place, "nic");
    if (nic == kNoElement) nic = document_.add(place, "nic");
    return addNet(nic, group);
  }

  // The width of all members' ways together at the place where they meet; 0 if the rules do not widen it, or the members are
  // ports of one card.
  std::int64_t widthOf(const std::vector<std::size_t>& group, ElementId meeting) const {
    Distance farthest = Distance::kLoc;
    for (const std::size_t member : group) farthest = std::max(farthest, distance(group[0], member));
    if (rules_.mergedWidth == rules::MergedWidth::kFirst || farthest <= Distance::kPort ||
        farthest == Distance::kSys)
      return 0;
    std::int64_t sum = 0;
    for (const ElementId child : document_[meeting].children) sum += widthBelow(child, group).value_or(0);
    return sum;
  }

  // The lanes of the members' ways below an element: no more than its own. None if no member is below it.
  std::optional<std::int64_t> widthBelow(ElementId element, const std::vector<std::size_t>& group) const {
    bool found =
        std::any_of(group.begin(), group.end(), [&](std::size_t member) { return nets_[member] == element; });
    std::int64_t sum = 0;
    for (const ElementId child : document_[element].children)
      if (const auto below = widthBelow(child, group)) {
        found = true;
        sum += *below;
      }
    if (!found) return std::nullopt;
    const std::int64_t own = document_[element].name == "pci"
                                 ? Attributes(document_, element).integer("link_width", 0, 1 << 16)
                                 : 0;
    return sum == 0 ? own : own > 0 ? std::min(own, sum) : sum;
  }

  // Widens the PCI devices from an element up to, but not with, another one.
  void widen(ElementId from, ElementId to, std::int64_t width) {
    for (; from != to; from = document_[from].parent)
      if (document_[from].name == "pci") document_.set(from, "link_width", std::to_string(width));
  }

  std::string namesOf(const std::vector<std::size_t>& group) const {
    std::string names;
    for (const std::size_t member : group)
      names += (names.empty() ? "" : "+") + *document_.attribute(nets_[member], "name");
    return names;
  }

  // By older rules: at the lowest place above all members, but on no member's card and below a CPU.
  ElementId addBesideThem(const std::vector<std::size_t>& group) {
    ElementId place = meetingOf(group);
    if (document_[place].name == "nic") place = document_[place].parent;
    // Not on a member's own card: trimming removes it when the job uses the virtual device alone.
    if (document_[place].name == "pci" && document_.child(place, "nic") != kNoElement)
      place = document_[place].parent;
    if (document_[place].name == "system") place = cpuOf(nets_[group[0]]);
    if (document_[place].name == "pci")
      place = addCard(place, document_[document_[nets_[group[0]]].parent].parent);
    ElementId nic = document_.child(place, "nic");
    if (nic == kNoElement) nic = document_.add(place, "nic");
    return addNet(nic, group);
  }

  bool isAbove(ElementId above, ElementId id) const {
    while (id != kNoElement && id != above) id = document_[id].parent;
    return id == above;
  }

  ElementId cpuOf(ElementId id) const {
    while (document_[id].name != "cpu") id = document_[id].parent;
    return id;
  }

  // Adds a made-up card below a switch: with the attributes of the first member's and the next free bus id.
  ElementId addCard(ElementId parent, ElementId like) {
    const ElementId pci = document_.add(parent, "pci");
    const std::string* own = document_.attribute(like, "busid");
    std::uint64_t busId = own == nullptr ? 0 : parseBusId(*own).value_or(0);
    do ++busId;
    while (isTaken(document_.root(), busIdText(busId)));
    document_.set(pci, "busid", busIdText(busId));
    const auto attributes = document_[like].attributes;  // a copy: set changes the table
    for (const auto& [key, value] : attributes)
      if (key != "busid") document_.set(pci, key, value);
    return pci;
  }

  bool isTaken(ElementId below, const std::string& busId) const {
    const std::string* own = document_.attribute(below, "busid");
    if (own != nullptr && *own == busId) return true;
    const auto& children = document_[below].children;
    return std::any_of(children.begin(), children.end(), [&](ElementId c) { return isTaken(c, busId); });
  }

  ElementId addNet(ElementId nic, const std::vector<std::size_t>& group) {
    const auto first = document_[nets_[group[0]]].attributes;
    int speed = 0;
    for (const std::size_t member : group)
      speed += static_cast<int>(Attributes(document_, nets_[member]).integer("speed", 0, 1 << 28, 0));
    const ElementId net = document_.add(nic, "net");
    document_.set(net, "name", namesOf(group));
    document_.set(net, "dev", "");
    for (const auto& [key, value] : first) document_.setIfAbsent(net, key, value);
    document_.set(net, "speed", std::to_string(speed));
    if (rules_.rails) setPlace(net, group);
    return net;
  }

  std::int64_t placeOf(ElementId net, const char* railOrPlane) const {
    constexpr int kMaxValue = 1 << 16;
    return Attributes(document_, net).integer(railOrPlane, -1, kMaxValue, -1);
  }

  // The planes that a mask can hold: none first, then those of all devices in their order.
  std::vector<std::int64_t> planes() const {
    std::vector<std::int64_t> planes = {-1};
    for (const ElementId net : nets_)
      if (const std::int64_t plane = placeOf(net, "plane");
          std::find(planes.begin(), planes.end(), plane) == planes.end())
        planes.push_back(plane);
    if (planes.size() > kPlaneBits)
      throw InputError({"planes of NICs (NCCL_IB_HCA, or `plane` in a topology file)", 0},
                       std::to_string(planes.size() - 1),
                       fmt::format("at most {} where NICs merge", kPlaneBits - 1));
    return planes;
  }

  // The rail that all members name, and a mask of their planes: bit i stands for the i-th of planes().
  void setPlace(ElementId net, const std::vector<std::size_t>& group) {
    const std::vector<std::int64_t> known = planes();
    std::int64_t rail = -1;
    int mask = 0;
    for (const std::size_t member : group) {
      const std::int64_t own = placeOf(nets_[member], "rail");
      rail = member == group.front() || rail == own ? own : -1;
      mask |= 1 << (std::find(known.begin(), known.end(), placeOf(nets_[member], "plane")) - known.begin());
    }
    document_.removeAttribute(net, "rail");
    if (rail >= 0) document_.set(net, "rail", std::to_string(rail));
    document_.set(net, "plane", std::to_string(1 << kPlaneBits | mask));
  }

  Document& document_;
  const std::vector<ElementId>& nets_;
  const std::span<const NetDevice> devices_;
  const MergeOptions& options_;
  const rules::RuleSet& rules_;
  std::vector<bool> placed_;                             // by device: belongs to a group
  std::set<std::pair<std::size_t, std::size_t>> apart_;  // devices that could not be merged
};

}  // namespace

std::vector<ElementId> mergeNics(Document& document, const std::vector<ElementId>& nets,
                                 std::span<const NetDevice> devices, const MergeOptions& options,
                                 const rules::RuleSet& rules) {
  return NicMerger(document, nets, devices, options, rules).run();
}

}  // namespace xylem::topology
