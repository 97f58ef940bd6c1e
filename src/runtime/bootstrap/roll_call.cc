#include "runtime/bootstrap/roll_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/bootstrap/rank_list.h"

namespace xylem {
namespace {

// Bounds what is told and believed; in larger jobs not everybody is on everybody's list.
constexpr std::size_t kMostPlaces = 4096;
constexpr std::size_t kMostWords = 96;

struct Row {
  std::int32_t rank;
  std::int32_t peer;
  std::uint32_t version;
  std::uint32_t letters;
};

}  // namespace

void RollCall::note(int rank, std::string_view what, int peer) {
  places_[rank] = {++notes_, peer, std::string(what.substr(0, kMostWords))};
}

std::vector<std::byte> RollCall::bytes() const {
  std::vector<std::byte> out;
  const auto add = [&](const void* data, std::size_t bytes) {
    const auto* start = static_cast<const std::byte*>(data);
    out.insert(out.end(), start, start + bytes);
  };
  std::size_t told = 0;
  for (const auto& [rank, place] : places_) {
    if (++told > kMostPlaces) break;
    const Row row{rank, place.peer, place.version, static_cast<std::uint32_t>(place.what.size())};
    add(&row, sizeof row);
    add(place.what.data(), place.what.size());
  }
  return out;
}

bool RollCall::merge(std::span<const std::byte> bytes) {
  bool changed = false;
  Row row;
  while (bytes.size() >= sizeof row) {
    std::memcpy(&row, bytes.data(), sizeof row);
    bytes = bytes.subspan(sizeof row);
    if (row.letters > std::min(kMostWords, bytes.size())) break;
    const auto found = places_.find(row.rank);
    if (found == places_.end() ? places_.size() < kMostPlaces : found->second.version < row.version) {
      places_[row.rank] = {row.version, row.peer,
                           std::string(reinterpret_cast<const char*>(bytes.data()), row.letters)};
      changed = true;
    }
    bytes = bytes.subspan(row.letters);
  }
  return changed;
}

std::string RollCall::report(std::string_view what, std::span<const int> expected) const {
  std::vector<int> missing, there;
  std::map<std::pair<std::string, int>, std::vector<int>> elsewhere;
  for (const int rank : expected) {
    const auto found = places_.find(rank);
    if (found == places_.end())
      missing.push_back(rank);
    else if (found->second.what == what)
      there.push_back(rank);
    else
      elsewhere[{found->second.what, found->second.peer}].push_back(rank);
  }
  std::string text =
      missing.empty() ? "nobody is missing" : ranksAre(missing, "has not arrived", "have not arrived");
  if (!there.empty()) text += "; " + ranksAre(there, "waits", "wait") + " there";
  for (const auto& [place, ranks] : elsewhere) {
    text += fmt::format("; {} in {}", ranksAre(ranks, "waits", "wait"), place.first);
    if (place.second >= 0) text += fmt::format(" for rank {}", place.second);
  }
  return text;
}

}  // namespace xylem
