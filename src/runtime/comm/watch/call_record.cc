#include "runtime/comm/watch/call_record.h"

namespace xylem::comm {
namespace {

constexpr std::uint64_t kPathKnown = std::uint64_t{1} << 63;
constexpr unsigned kProtocolShift = 8, kChannelsShift = 16;
constexpr std::uint64_t kMaxPlausibleChannels = 1 << 16;

// The index of each word of a record.
enum Word : std::size_t {
  kSeal,
  kCall,
  kPath = kCall + std::tuple_size_v<CallWords>,
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
static_assert(kWords == kRawRecordWords);
static_assert(offsetof(RawRecord, state) == kState * sizeof(RecordWord));

}  // namespace

std::uint64_t packPath(const ChosenAlgorithm& chosen) {
  return kPathKnown | static_cast<std::uint64_t>(chosen.algorithm) |
         static_cast<std::uint64_t>(chosen.protocol) << kProtocolShift |
         static_cast<std::uint64_t>(chosen.channels) << kChannelsShift;
}

std::optional<CallPath> unpackPath(std::uint64_t word) {
  if (word == kDirectPath) return CallPath{.direct = true};
  if ((word & kPathKnown) == 0) return std::nullopt;
  const std::uint64_t algorithm = word & 0xff, protocol = word >> kProtocolShift & 0xff,
                      channels = (word & ~kPathKnown) >> kChannelsShift;
  if (algorithm >= kAllAlgorithms.size() || protocol >= kAllProtocols.size() ||
      channels >= kMaxPlausibleChannels)
    return std::nullopt;
  return CallPath{false, static_cast<Algorithm>(algorithm), static_cast<Protocol>(protocol),
                  static_cast<int>(channels)};
}

RawRecordWords wordsOf(const RawRecord& record) {
  RawRecordWords words{};
  words[kSeal] = record.seal.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < record.call.size(); ++i)
    words[kCall + i] = record.call[i].load(std::memory_order_relaxed);
  const RecordWord* rest[] = {&record.path,     &record.launch, &record.ordinal, &record.send,
                              &record.receive,  &record.stream, &record.issued,  &record.started,
                              &record.finished, &record.state};
  for (std::size_t i = 0; i < std::size(rest); ++i)
    words[kPath + i] = rest[i]->load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  words[kOtherSeal] = record.otherSeal.load(std::memory_order_relaxed);
  // A record that was overwritten meanwhile is void.
  if (record.seal.load(std::memory_order_relaxed) != words[kSeal]) words[kSeal] = 0;
  return words;
}

std::optional<CallRecord> CallRecord::from(const RawRecordWords& words) {
  if (words[kSeal] == 0 || words[kSeal] != words[kOtherSeal]) return std::nullopt;
  const auto call = unpackCall({words[kCall], words[kCall + 1], words[kCall + 2]});
  if (!call || words[kState] > static_cast<std::uint64_t>(CallState::kFailed)) return std::nullopt;
  CallRecord entry;
  entry.number = words[kSeal] - 1;
  entry.call = *call;
  entry.way = unpackPath(words[kPath]);
  entry.launch = words[kLaunch];
  entry.ordinal = words[kOrdinal];
  entry.send = words[kSend];
  entry.receive = words[kReceive];
  entry.stream = words[kStream];
  entry.issued = words[kIssued];
  entry.started = words[kStarted];
  entry.finished = words[kFinished];
  entry.state = static_cast<CallState>(words[kState]);
  return entry;
}

const char* name(CallState state) {
  switch (state) {
    case CallState::kIssued:
      return "issued";
    case CallState::kStarted:
      return "running";
    case CallState::kDone:
      return "done";
    case CallState::kFailed:
      return "failed";
  }
  return "";
}

void describe(TextLine& line, const CallRecord& entry, const TickClock& clock) {
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
    case CallState::kIssued:
      line.add(": issued ").addSeconds(clock.nanosecondsSince(entry.issued)).add(" ago, not begun");
      break;
    case CallState::kStarted:
      line.add(": running for ").addSeconds(clock.nanosecondsSince(entry.started));
      break;
    case CallState::kDone:
    case CallState::kFailed:
      line.add(": ").add(name(entry.state)).add(" ");
      line.addSeconds(clock.nanosecondsSince(entry.finished)).add(" ago");
      break;
  }
}

}  // namespace xylem::comm
