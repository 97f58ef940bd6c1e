#include "planner/search/shared_graphs.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "planner/paths/locality.h"

namespace xylem::search {
namespace {

constexpr int kMaxNumber = std::numeric_limits<int>::max();
// More searches than the driver makes: its budget ends before.
constexpr int kMaxAttempts = 1 << 16;
// More views than a host has: hardly ever more than one.
constexpr int kMaxViews = 4096;

[[noreturn]] void refuse(const char* what) {
  throw Error(ResultCode::kRemoteError, "a rank shared graphs of its host that cannot be: {}", what);
}

class GraphWriter {
 public:
  void number(const auto& value, std::int64_t, std::int64_t) { put(static_cast<std::int64_t>(value)); }
  void bandwidth(const float& value) { put(value); }
  void list(const std::vector<int>& values, std::int64_t, std::int64_t) {
    put(static_cast<std::int64_t>(values.size()));
    for (const int value : values) put(value);
  }
  template <typename T>
  const std::vector<T>& items(const std::vector<T>& values, std::int64_t) {
    put(static_cast<std::int64_t>(values.size()));
    return values;
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string bytes_;
};

// Refuses values that are not within the bounds.
class GraphReader {
 public:
  explicit GraphReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  void number(T& value, std::int64_t minimum, std::int64_t maximum) {
    const auto found = get<std::int64_t>();
    if (found < minimum || found > maximum) refuse("a number is out of its range");
    value = static_cast<T>(found);
  }
  void bandwidth(float& value) {
    value = get<float>();
    if (!std::isfinite(value) || value < 0) refuse("a bandwidth or latency is no number");
  }
  void list(std::vector<int>& values, std::int64_t minimum, std::int64_t maximum) {
    values.resize(count(sizeof(int), kMaxNumber));
    for (int& value : values) {
      value = get<int>();
      if (value < minimum || value > maximum) refuse("a GPU or NET is out of its range");
    }
  }
  // An item takes at least a byte, so a count beyond the bytes left is refused before anything is allocated.
  template <typename T>
  std::vector<T>& items(std::vector<T>& values, std::int64_t maximum) {
    values.resize(count(1, maximum));
    return values;
  }
  bool done() const { return rest_.empty(); }

 private:
  template <typename T>
  T get() {
    T value;
    if (rest_.size() < sizeof value) refuse("they end too early");
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::size_t count(std::size_t each, std::int64_t maximum) {
    const auto found = get<std::int64_t>();
    if (found < 0 || found > maximum || static_cast<std::size_t>(found) > rest_.size() / each)
      refuse("more is announced than is there");
    return static_cast<std::size_t>(found);
  }
  std::string_view rest_;
};

// The format of an attempt, a graph, and all graphs, for writer and reader alike: their fields in order.
void attempt(auto& archive, auto& a) {
  archive.number(a.pattern, 1, static_cast<int>(Pattern::kCollnetDirect));
  archive.number(a.pass, 0, kMaxNumber);
  archive.bandwidth(a.bwIntra);
  archive.bandwidth(a.bwInter);
  archive.number(a.typeIntra, 0, paths::kPathTypes - 1);
  archive.number(a.typeInter, 0, paths::kPathTypes - 1);
  archive.number(a.crossNic, 0, 2);
  archive.number(a.sameChannels, 0, 1);
  archive.number(a.steps, 0, std::numeric_limits<std::int64_t>::max());
  archive.number(a.exhausted, 0, 1);
  archive.number(a.channelsBefore, 0, paths::kMaxChannels);
  archive.number(a.channelsAfter, 0, paths::kMaxChannels);
  archive.number(a.change, 0, static_cast<int>(SearchChange::kMoreBandwidth));
}

void graph(auto& archive, auto& g) {
  archive.number(g.id, 0, kMaxNumber);
  archive.number(g.pattern, 1, static_cast<int>(Pattern::kCollnetDirect));
  archive.number(g.crossNic, 0, 2);
  archive.number(g.collNet, 0, 1);
  archive.number(g.minChannels, 0, paths::kMaxChannels);
  archive.number(g.maxChannels, 0, paths::kMaxChannels);
  archive.number(g.nChannels, 0, paths::kMaxChannels);
  archive.bandwidth(g.bwIntra);
  archive.bandwidth(g.bwInter);
  archive.bandwidth(g.latencyInter);
  archive.number(g.typeIntra, 0, paths::kPathTypes - 1);
  archive.number(g.typeInter, 0, paths::kPathTypes - 1);
  archive.number(g.sameChannels, 0, 1);
  archive.number(g.nHops, 0, kMaxNumber);
  archive.number(g.gpuCount, 0, kMaxNumber);
  archive.list(g.gpus, 0, kMaxNumber);
  archive.list(g.nets, -1, kMaxNumber);
  for (auto& a : archive.items(g.attempts, kMaxAttempts)) attempt(archive, a);
  archive.number(g.searchSteps, 0, std::numeric_limits<std::int64_t>::max());
  archive.number(g.end, 0, static_cast<int>(SearchEnd::kNothingToGiveUp));
  archive.number(g.duplication, 0, static_cast<int>(Duplication::kEnough));
  archive.number(g.fallback, 0, 1);
  archive.number(g.loadedChannels, -1, kMaxNumber);
}

void all(auto& archive, auto& views) {
  for (auto& graphs : archive.items(views, kMaxViews))
    for (auto& g : graphs) graph(archive, g);
}

// Channels of NVLS and CollNet direct have a head; all others hold each GPU once.
void checkChannels(const ChannelGraph& g) {
  const auto gpus = static_cast<std::size_t>(g.gpuCount);
  const auto channels = static_cast<std::size_t>(g.nChannels);
  if (g.gpus.size() != channels * gpus || g.nets.size() != 2 * channels) refuse("a channel is not complete");
  for (const int gpu : g.gpus)
    if (gpu >= g.gpuCount) refuse("a GPU that is not there");
  if (g.gpus.empty() || g.pattern == Pattern::kNvls || g.pattern == Pattern::kCollnetDirect) return;
  std::vector<std::size_t> seen(gpus, 0);  // by GPU: the number of channels that hold it
  for (std::size_t i = 0; i < g.gpus.size(); ++i) {
    std::size_t& channel = seen[static_cast<std::size_t>(g.gpus[i])];
    if (channel++ != i / gpus) refuse("a channel that holds a GPU twice");
  }
}

}  // namespace

std::string writeGraphs(const std::vector<HostGraphs>& views) {
  GraphWriter writer;
  all(writer, views);
  return writer.take();
}

std::vector<HostGraphs> readGraphs(std::string_view bytes) {
  GraphReader reader(bytes);
  std::vector<HostGraphs> views;
  all(reader, views);
  if (!reader.done()) refuse("something follows them");
  for (const HostGraphs& graphs : views)
    for (const ChannelGraph& g : graphs) checkChannels(g);
  return views;
}

void checkFit(const HostGraphs& graphs, const topology::System& system) {
  for (const ChannelGraph& g : graphs) {
    if (g.nChannels > 0 && g.gpuCount != system.count(topology::NodeType::kGpu))
      refuse("they are of another machine");
    for (const int net : g.nets)
      if (net >= system.count(topology::NodeType::kNet)) refuse("a NET that is not there");
  }
}

}  // namespace xylem::search
