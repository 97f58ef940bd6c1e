#include "planner/rules/variables.h"

#include <fmt/format.h>

#include "core/settings.h"

namespace xylem::rules {
namespace {

struct Life {
  std::string_view since, until;  // the first and the last version; empty: not after 2.25.1, and no last one
};

struct NewVariable {
  std::string_view name, since;
};

// The variables that Xylem reads and 2.25.1 does not know.
constexpr NewVariable kNewVariables[] = {
    {"NCCL_NET_GDR_C2C", "2.26"},
    {"NCCL_PXN_C2C", "2.27"},
    {"NCCL_LL128_C2C", "2.27"},
    {"NCCL_MNNVL_SCATTER_NETS_ENABLE", "2.27"},
    {"NCCL_IB_DATA_DIRECT", "2.27"},
    {"NCCL_NETDEVS_POLICY", "2.28"},
    {"NCCL_P2P_SCHEDULE_GROUP_SIZE", "2.28"},
    {"NCCL_P2P_PER_CHANNEL_NET_BW", "2.29"},
    {"NCCL_IB_DEVICE_PCI_ORDER", "2.29"},
    {"NCCL_MNNVL_RAIL_PER_HOST", "2.28"},
    {"NCCL_P2P_MAX_PEERS", "2.30"},
    {"NCCL_MULTI_RANK_GPU_ENABLE", "2.30"},
    {"NCCL_IB_QUERY_PORT_SPEED", "2.30"},
    {"NCCL_TOPO_SPLIT_MLOPART", "2.30"},
    {"NCCL_NET_GDR_MLOPART", "2.30"},
    {"NCCL_NET_MERGE_POLICY", "2.30"},
};

struct Default {
  std::string_view name;
  Version since;
  std::string_view value;
};

// Oldest first for each variable.
constexpr Default kDefaults[] = {
    {"NCCL_NET_GDR_C2C", {2, 26, 2}, "0"},
    {"NCCL_NET_GDR_C2C", {2, 27, 3}, "1"},
    {"NCCL_PXN_C2C", {2, 27, 3}, "0"},
    {"NCCL_PXN_C2C", {2, 28, 3}, "1"},
    {"NCCL_NET_PLUGIN_REF_COUNT", {2, 26, 2}, "1"},
    {"NCCL_NET_PLUGIN_REF_COUNT", {2, 28, 3}, "0"},
};

Life lifeOf(std::string_view variable) {
  for (const NewVariable& known : kNewVariables)
    if (known.name == variable) return {known.since, ""};
  if (findSetting(variable) != nullptr) return {};
  const NcclVariable* other = findNcclVariable(variable);
  return other == nullptr ? Life{} : Life{other->since, other->until};
}

// Negative if `version` is older than the release or series that `text` names, 0 if it is that release or of that series.
int compare(const Version& version, std::string_view text) {
  const Version named = parseVersion(text).value_or(kOldestVersion);
  const bool series = text.find('.') == text.rfind('.');
  const auto order = series ? std::pair(version.major, version.minor) <=> std::pair(named.major, named.minor)
                            : version <=> named;
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

}  // namespace

bool knows(const Version& version, std::string_view variable) {
  const Life life = lifeOf(variable);
  return (life.since.empty() || compare(version, life.since) >= 0) &&
         (life.until.empty() || compare(version, life.until) <= 0);
}

std::string lifeText(std::string_view variable) {
  const Life life = lifeOf(variable);
  std::string text;
  if (!life.since.empty() && compare(kOldestVersion, life.since) < 0)
    text = fmt::format("since NCCL {}", life.since);
  if (!life.until.empty()) text += fmt::format("{}until NCCL {}", text.empty() ? "" : " and ", life.until);
  return text;
}

std::string_view defaultIn(const Version& version, std::string_view variable, std::string_view fallback) {
  for (const Default& row : kDefaults)
    if (row.name == variable && version >= row.since) fallback = row.value;
  return fallback;
}

}  // namespace xylem::rules
