#include "runtime/comm/watch/record_reader.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace xylem::comm {
namespace {

constexpr std::uint64_t kMaxPlausibleRanks = std::uint64_t{1} << 30;

// Words of a part of the memory.
class Words {
 public:
  explicit Words(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t at(std::size_t offset) const {
    std::uint64_t word = 0;
    if (offset + sizeof word <= bytes_.size()) std::memcpy(&word, bytes_.data() + offset, sizeof word);
    return word;
  }
  Words part(std::size_t offset, std::size_t bytes) const {
    return Words(offset + bytes <= bytes_.size() ? bytes_.subspan(offset, bytes)
                                                 : std::span<const std::byte>());
  }
  // The text up to the first zero. Control characters, which could command a terminal, become question marks.
  std::string text(std::size_t offset, std::size_t most) const {
    std::string found;
    for (std::size_t i = 0; i < most && offset + i < bytes_.size(); ++i) {
      const auto c = static_cast<unsigned char>(bytes_[offset + i]);
      if (c == 0) break;
      // The second kind of control characters, 0x80 to 0x9f, are two bytes in UTF-8.
      const bool control = c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0 && found.ends_with('\xc2'));
      found += control ? '?' : static_cast<char>(c);
    }
    return found;
  }

 private:
  std::span<const std::byte> bytes_;
};

std::optional<CallRecord> readEntry(const Words& words, std::size_t offset) {
  // Skip empty records at once: a ring that is not full yet has many.
  if (words.at(offset + offsetof(RawRecord, seal)) == 0) return std::nullopt;
  RawRecordWords record{};
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = words.at(offset + i * sizeof record[i]);
  return CallRecord::from(record);
}

std::vector<CallRecord> readEntries(const Words& ring, std::uint64_t issued) {
  std::vector<CallRecord> entries;
  for (std::size_t i = 0; i < kRecordsPerRing; ++i) {
    const auto entry = readEntry(ring, offsetof(RecordRing, records) + i * sizeof(RawRecord));
    // A record that is being written may be newer than the count.
    if (entry && entry->number % kRecordsPerRing == i && entry->number <= issued) entries.push_back(*entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const CallRecord& a, const CallRecord& b) { return a.number < b.number; });
  return entries;
}

std::optional<RankRecord> readRing(const Words& ring) {
  const std::uint64_t use = ring.at(offsetof(RecordRing, use));
  const std::uint64_t rank = ring.at(offsetof(RecordRing, rank)),
                      ranks = ring.at(offsetof(RecordRing, ranks)),
                      waitsFor = ring.at(offsetof(RecordRing, waitsFor)),
                      kind = ring.at(offsetof(RecordRing, waitKind));
  if (use != static_cast<std::uint64_t>(RingUse::kLive) &&
      use != static_cast<std::uint64_t>(RingUse::kFailed) &&
      use != static_cast<std::uint64_t>(RingUse::kJoining))
    return std::nullopt;
  if (ranks == 0 || ranks > kMaxPlausibleRanks || rank >= ranks) return std::nullopt;
  RankRecord log;
  log.communicator = ring.at(offsetof(RecordRing, communicator));
  log.rank = static_cast<int>(rank);
  log.ranks = static_cast<int>(ranks);
  log.device = static_cast<int>(ring.at(offsetof(RecordRing, device)) & 0xffff);
  log.made = ring.at(offsetof(RecordRing, made));
  log.issued = ring.at(offsetof(RecordRing, issued));
  log.failed = use == static_cast<std::uint64_t>(RingUse::kFailed);
  if (log.failed) log.reason = ring.text(offsetof(RecordRing, reason), kReasonWords * sizeof(std::uint64_t));
  log.joining = use == static_cast<std::uint64_t>(RingUse::kJoining);
  const bool joins = log.joining && kind == static_cast<std::uint64_t>(WaitKind::kJoin);
  const bool works = !log.joining && (kind == static_cast<std::uint64_t>(WaitKind::kCheck) ||
                                      kind == static_cast<std::uint64_t>(WaitKind::kData));
  const bool replays = !log.joining && kind == static_cast<std::uint64_t>(WaitKind::kReplay);
  if (joins || works || replays) {
    log.wait = static_cast<WaitKind>(kind);
    if (waitsFor <= ranks) log.waitsFor = static_cast<int>(waitsFor) - 1;
    log.waitsSince = ring.at(offsetof(RecordRing, waitsSince));
  }
  log.copies = ring.text(offsetof(RecordRing, copies), kCopiesWords * sizeof(std::uint64_t));
  if (joins) log.joinsAt = ring.text(offsetof(RecordRing, reason), kReasonWords * sizeof(std::uint64_t));
  if (works) log.waiting = readEntry(ring, offsetof(RecordRing, waiting));
  log.entries = readEntries(ring, log.issued);
  return log;
}

}  // namespace

ProcessRecord readRecordBuffer(std::span<const std::byte> bytes) {
  const Words buffer(bytes);
  if (buffer.at(offsetof(RecordBuffer, magic)) != kRecordMagic)
    throw Error(ResultCode::kInvalidArgument, "this is no flight recorder");
  if (buffer.at(offsetof(RecordBuffer, version)) != kRecordVersion ||
      buffer.at(offsetof(RecordBuffer, bytes)) != sizeof(RecordBuffer))
    throw Error(ResultCode::kInvalidArgument,
                "the flight recorder has version {}, this program reads {}: it belongs to another version of "
                "Xylem",
                buffer.at(offsetof(RecordBuffer, version)), kRecordVersion);
  ProcessRecord process;
  process.pid = static_cast<std::int64_t>(buffer.at(offsetof(RecordBuffer, pid)));
  process.host = buffer.text(offsetof(RecordBuffer, host), kHostNameWords * sizeof(std::uint64_t));
  process.start = {buffer.at(offsetof(RecordBuffer, startTicks)),
                   buffer.at(offsetof(RecordBuffer, startNanoseconds))};
  for (std::size_t i = 0; i < kRingsPerBuffer; ++i) {
    const std::size_t offset = offsetof(RecordBuffer, rings) + i * sizeof(RecordRing);
    if (auto log = readRing(buffer.part(offset, sizeof(RecordRing))))
      process.communicators.push_back(std::move(*log));
  }
  return process;
}

}  // namespace xylem::comm
