#include "runtime/comm/watch/flight_entry.h"

namespace xylem {
namespace {

constexpr std::uint64_t kWayKnown = std::uint64_t{1} << 63;
constexpr unsigned kProtocolShift = 8, kChannelsShift = 16;
constexpr std::uint64_t kMostChannels = 1 << 16;

// Where the words of a record lie.
enum Word : std::size_t {
  kSeal,
  kCall,
  kWay = kCall + std::tuple_size_v<CallWords>,
  kLaunch,
  kOrdinal,
  kSend,
  kReceive,
  kStream,
  kIssued,
  kStarted,
  kFinished,
  kState,
  kSpare,
  kOtherSeal,
  kWords
};
static_assert(kWords == kFlightRecordWords);
static_assert(offsetof(FlightRecord, state) == kState * sizeof(FlightWord));

}  // namespace

std::uint64_t packWay(const ChosenWay& way) {
  return kWayKnown | static_cast<std::uint64_t>(way.algorithm) |
         static_cast<std::uint64_t>(way.protocol) << kProtocolShift |
         static_cast<std::uint64_t>(way.channels) << kChannelsShift;
}

std::optional<FlightWay> unpackWay(std::uint64_t word) {
  if (word == kDirectWay) return FlightWay{.direct = true};
  if ((word & kWayKnown) == 0) return std::nullopt;
  const std::uint64_t algorithm = word & 0xff, protocol = word >> kProtocolShift & 0xff,
                      channels = (word & ~kWayKnown) >> kChannelsShift;
  if (algorithm >= kAllAlgorithms.size() || protocol >= kAllProtocols.size() || channels >= kMostChannels)
    return std::nullopt;
  return FlightWay{false, static_cast<Algorithm>(algorithm), static_cast<Protocol>(protocol),
                   static_cast<int>(channels)};
}

FlightRecordWords wordsOf(const FlightRecord& record) {
  FlightRecordWords words{};
  words[kSeal] = record.seal.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < record.call.size(); ++i)
    words[kCall + i] = record.call[i].load(std::memory_order_relaxed);
  const FlightWord* rest[] = {&record.way,      &record.launch, &record.ordinal, &record.send,
                              &record.receive,  &record.stream, &record.issued,  &record.started,
                              &record.finished, &record.state};
  for (std::size_t i = 0; i < std::size(rest); ++i)
    words[kWay + i] = rest[i]->load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  words[kOtherSeal] = record.otherSeal.load(std::memory_order_relaxed);
  // Overwritten meanwhile?
  if (record.seal.load(std::memory_order_relaxed) != words[kSeal]) words[kSeal] = 0;
  return words;
}

std::optional<FlightEntry> FlightEntry::from(const FlightRecordWords& words) {
  if (words[kSeal] == 0 || words[kSeal] != words[kOtherSeal]) return std::nullopt;
  const auto call = unpackCall({words[kCall], words[kCall + 1], words[kCall + 2]});
  if (!call || words[kState] > static_cast<std::uint64_t>(FlightState::kFailed)) return std::nullopt;
  FlightEntry entry;
  entry.number = words[kSeal] - 1;
  entry.call = *call;
  entry.way = unpackWay(words[kWay]);
  entry.launch = words[kLaunch];
  entry.ordinal = words[kOrdinal];
  entry.send = words[kSend];
  entry.receive = words[kReceive];
  entry.stream = words[kStream];
  entry.issued = words[kIssued];
  entry.started = words[kStarted];
  entry.finished = words[kFinished];
  entry.state = static_cast<FlightState>(words[kState]);
  return entry;
}

const char* name(FlightState state) {
  switch (state) {
    case FlightState::kIssued:
      return "issued";
    case FlightState::kStarted:
      return "running";
    case FlightState::kDone:
      return "done";
    case FlightState::kFailed:
      return "failed";
  }
  return "";
}

void describe(FlightLine& line, const FlightEntry& entry, const FlightClock& clock) {
  line.add("#").add(entry.number).add(" ");
  describe(line, entry.call);
  if (entry.way && entry.way->direct)
    line.add(", in one exchange");
  else if (entry.way)
    line.add(", ")
        .add(name(entry.way->algorithm))
        .add("/")
        .add(name(entry.way->protocol))
        .add(" in ")
        .add(entry.way->channels)
        .add(entry.way->channels == 1 ? " channel" : " channels");
  switch (entry.state) {
    case FlightState::kIssued:
      line.add(": issued ").addSeconds(clock.nanosecondsSince(entry.issued)).add(" ago, not begun");
      break;
    case FlightState::kStarted:
      line.add(": running for ").addSeconds(clock.nanosecondsSince(entry.started));
      break;
    case FlightState::kDone:
    case FlightState::kFailed:
      line.add(": ").add(name(entry.state)).add(" ");
      line.addSeconds(clock.nanosecondsSince(entry.finished)).add(" ago");
      break;
  }
}

}  // namespace xylem
