#include "insight/fabric/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/edit_distance.h"

namespace xylem::fabric {
namespace {

constexpr int kMaxCables = 1 << 20;
// With more switches than this, an error message suggests no similar name.
constexpr std::size_t kMaxCompared = 4096;

}  // namespace

void FabricBuilder::addSwitch(const std::string& name, const SourceLocation& where) {
  if (fabric_.switches.size() == kMaxFabricSwitches)
    throw InputError(where, "one more switch", fmt::format("at most {}", kMaxFabricSwitches));
  if (!switches_.emplace(name, static_cast<int>(fabric_.switches.size())).second)
    throw InputError(where, fmt::format("switch `{}` a second time", name), "every switch once");
  fabric_.switches.push_back(name);
}

int FabricBuilder::switchOf(const std::string& name, const SourceLocation& where) const {
  const auto found = switches_.find(name);
  if (found != switches_.end()) return found->second;
  const std::string near = fabric_.switches.size() <= kMaxCompared ? nearestWord(name, fabric_.switches) : "";
  throw InputError(where, fmt::format("`{}`, which is no switch", name),
                   near.empty() ? "a switch of a line `switch` above" : fmt::format("`{}`, perhaps", near));
}

void FabricBuilder::addCables(const std::string& a, const std::string& b, double bandwidth, int cables,
                              const SourceLocation& where) {
  const auto [first, second] = std::minmax({switchOf(a, where), switchOf(b, where)});
  if (first == second)
    throw InputError(where, fmt::format("a cable from `{}` to itself", a), "two different switches");
  const auto [at, isNew] = links_.try_emplace({first, second, bandwidth}, fabric_.links.size());
  if (isNew) {
    if (fabric_.links.size() == kMaxFabricLinks)
      throw InputError(where, "one more link", fmt::format("at most {}", kMaxFabricLinks));
    fabric_.links.push_back({first, second, bandwidth, 0});
  }
  int& sum = fabric_.links[at->second].cables;
  if (cables > kMaxCables - sum)
    throw InputError(where, fmt::format("{} more cables between `{}` and `{}`", cables, a, b),
                     fmt::format("at most {}", kMaxCables));
  sum += cables;
}

void FabricBuilder::addPort(const std::string& host, const std::string& nic, const std::string& leaf,
                            double bandwidth, const SourceLocation& where) {
  if (++ports_ > kMaxFabricLinks)
    throw InputError(where, "one more port", fmt::format("at most {}", kMaxFabricLinks));
  const auto [at, isNew] = hosts_.try_emplace(host, fabric_.hosts.size());
  if (isNew) fabric_.hosts.push_back({host, {}});
  fabric_.hosts[at->second].ports.push_back({nic, switchOf(leaf, where), bandwidth});
}

}  // namespace xylem::fabric
