#include "runtime/comm/watch/flight_reader.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace xylem {
namespace {

constexpr std::uint64_t kMostRanksBelieved = std::uint64_t{1} << 30;

// The words of a piece of the memory.
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
  // Up to the first zero; what a terminal would obey is left out.
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

std::optional<FlightEntry> readEntry(const Words& words, std::size_t offset) {
  // Of a ring that has not been round yet most are empty.
  if (words.at(offset + offsetof(FlightRecord, seal)) == 0) return std::nullopt;
  FlightRecordWords record{};
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = words.at(offset + i * sizeof record[i]);
  return FlightEntry::from(record);
}

std::vector<FlightEntry> readEntries(const Words& slot, std::uint64_t issued) {
  std::vector<FlightEntry> entries;
  for (std::size_t i = 0; i < kFlightEntries; ++i) {
    const auto entry = readEntry(slot, offsetof(FlightSlot, records) + i * sizeof(FlightRecord));
    // One that is being written now may be newer than the count.
    if (entry && entry->number % kFlightEntries == i && entry->number <= issued) entries.push_back(*entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const FlightEntry& a, const FlightEntry& b) { return a.number < b.number; });
  return entries;
}

std::optional<FlightLog> readSlot(const Words& slot) {
  const std::uint64_t use = slot.at(offsetof(FlightSlot, use));
  const std::uint64_t rank = slot.at(offsetof(FlightSlot, rank)),
                      ranks = slot.at(offsetof(FlightSlot, ranks)),
                      waitsFor = slot.at(offsetof(FlightSlot, waitsFor)),
                      kind = slot.at(offsetof(FlightSlot, waitKind));
  if (use != static_cast<std::uint64_t>(FlightUse::kLive) &&
      use != static_cast<std::uint64_t>(FlightUse::kFailed))
    return std::nullopt;
  if (ranks == 0 || ranks > kMostRanksBelieved || rank >= ranks) return std::nullopt;
  FlightLog log;
  log.communicator = slot.at(offsetof(FlightSlot, communicator));
  log.rank = static_cast<int>(rank);
  log.ranks = static_cast<int>(ranks);
  log.device = static_cast<int>(slot.at(offsetof(FlightSlot, device)) & 0xffff);
  log.made = slot.at(offsetof(FlightSlot, made));
  log.issued = slot.at(offsetof(FlightSlot, issued));
  log.failed = use == static_cast<std::uint64_t>(FlightUse::kFailed);
  if (log.failed)
    log.reason = slot.text(offsetof(FlightSlot, reason), kFlightReasonWords * sizeof(std::uint64_t));
  if (kind == static_cast<std::uint64_t>(FlightWait::kCheck) ||
      kind == static_cast<std::uint64_t>(FlightWait::kData)) {
    log.wait = static_cast<FlightWait>(kind);
    if (waitsFor <= ranks) log.waitsFor = static_cast<int>(waitsFor) - 1;
    log.waitsSince = slot.at(offsetof(FlightSlot, waitsSince));
    log.waiting = readEntry(slot, offsetof(FlightSlot, waiting));
  }
  log.entries = readEntries(slot, log.issued);
  return log;
}

}  // namespace

FlightProcess readFlightArea(std::span<const std::byte> bytes) {
  const Words area(bytes);
  if (area.at(offsetof(FlightArea, magic)) != kFlightMagic)
    throw Error(ResultCode::kInvalidArgument, "this is no flight recorder");
  if (area.at(offsetof(FlightArea, version)) != kFlightVersion ||
      area.at(offsetof(FlightArea, bytes)) != sizeof(FlightArea))
    throw Error(ResultCode::kInvalidArgument,
                "the flight recorder has version {}, this program reads {}: it belongs to another version of "
                "Xylem",
                area.at(offsetof(FlightArea, version)), kFlightVersion);
  FlightProcess process;
  process.pid = static_cast<std::int64_t>(area.at(offsetof(FlightArea, pid)));
  process.host = area.text(offsetof(FlightArea, host), kFlightHostWords * sizeof(std::uint64_t));
  process.start = {area.at(offsetof(FlightArea, startTicks)),
                   area.at(offsetof(FlightArea, startNanoseconds))};
  for (std::size_t i = 0; i < kFlightSlots; ++i) {
    const std::size_t offset = offsetof(FlightArea, slots) + i * sizeof(FlightSlot);
    if (auto log = readSlot(area.part(offset, sizeof(FlightSlot))))
      process.communicators.push_back(std::move(*log));
  }
  return process;
}

}  // namespace xylem
