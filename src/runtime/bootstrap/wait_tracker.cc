#include "runtime/bootstrap/wait_tracker.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/bootstrap/rank_list.h"

namespace xylem::bootstrap {
namespace {

// Bounds what is sent and accepted: in larger jobs a tracker does not have all ranks.
constexpr std::size_t kMaxWaits = 4096;
constexpr std::size_t kMaxNameBytes = 96;

struct Row {
  std::int32_t rank;
  std::int32_t peer;
  std::uint32_t version;
  std::uint32_t nameBytes;
};

}  // namespace

void WaitTracker::note(int rank, std::string_view what, int peer) {
  waits_[rank] = {++notes_, peer, std::string(what.substr(0, kMaxNameBytes))};
}

std::vector<std::byte> WaitTracker::bytes() const {
  std::vector<std::byte> out;
  const auto add = [&](const void* data, std::size_t bytes) {
    const auto* start = static_cast<const std::byte*>(data);
    out.insert(out.end(), start, start + bytes);
  };
  std::size_t written = 0;
  for (const auto& [rank, wait] : waits_) {
    if (++written > kMaxWaits) break;
    const Row row{rank, wait.peer, wait.version, static_cast<std::uint32_t>(wait.what.size())};
    add(&row, sizeof row);
    add(wait.what.data(), wait.what.size());
  }
  return out;
}

bool WaitTracker::merge(std::span<const std::byte> bytes) {
  bool changed = false;
  Row row;
  while (bytes.size() >= sizeof row) {
    std::memcpy(&row, bytes.data(), sizeof row);
    bytes = bytes.subspan(sizeof row);
    if (row.nameBytes > std::min(kMaxNameBytes, bytes.size())) break;
    const auto found = waits_.find(row.rank);
    if (found == waits_.end() ? waits_.size() < kMaxWaits : found->second.version < row.version) {
      waits_[row.rank] = {row.version, row.peer,
                          std::string(reinterpret_cast<const char*>(bytes.data()), row.nameBytes)};
      changed = true;
    }
    bytes = bytes.subspan(row.nameBytes);
  }
  return changed;
}

std::string WaitTracker::report(std::string_view what, std::span<const int> expected) const {
  std::vector<int> missing, there;
  std::map<std::pair<std::string, int>, std::vector<int>> elsewhere;
  for (const int rank : expected) {
    const auto found = waits_.find(rank);
    if (found == waits_.end())
      missing.push_back(rank);
    else if (found->second.what == what)
      there.push_back(rank);
    else
      elsewhere[{found->second.what, found->second.peer}].push_back(rank);
  }
  std::string text =
      missing.empty() ? "nobody is missing" : ranksAre(missing, "has not arrived", "have not arrived");
  if (!there.empty()) text += "; " + ranksAre(there, "waits", "wait") + " there";
  for (const auto& [wait, ranks] : elsewhere) {
    text += fmt::format("; {} in {}", ranksAre(ranks, "waits", "wait"), wait.first);
    if (wait.second >= 0) text += fmt::format(" for rank {}", wait.second);
  }
  return text;
}

}  // namespace xylem::bootstrap
