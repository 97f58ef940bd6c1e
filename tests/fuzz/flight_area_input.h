#pragma once
// An input of the fuzzer of flight recorders: the memory of another process, with any content. It is read and
// made into the text of `xylem status`, or it is refused. That text has no characters that command a
// terminal.
//
//   feedFlightArea(bytes);   // true if it was read

#include <memory>
#include <utility>
#include <vector>

#include "cli/status/text.h"
#include "runtime/comm/watch/record_reader.h"
#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"

namespace xylem {

// A buffer that all inputs share, as it is large: the bytes that an input writes are cleared afterwards.
class FuzzedArea {
 public:
  ~FuzzedArea() {
    for (const auto& [at, bytes] : written_) std::memset(memory() + at, 0, bytes);
  }
  std::span<const std::byte> bytes() const { return {memory(), sizeof(RecordBuffer)}; }

  void write(std::size_t at, std::span<const std::byte> bytes) {
    at %= sizeof(RecordBuffer);
    const std::size_t fits = std::min(bytes.size(), sizeof(RecordBuffer) - at);
    if (fits == 0) return;
    std::memcpy(memory() + at, bytes.data(), fits);
    written_.emplace_back(at, fits);
  }
  void write(std::size_t at, std::uint64_t word) { write(at, std::as_bytes(std::span(&word, 1))); }

 private:
  static std::byte* memory() {
    static const auto all = std::make_unique<std::byte[]>(sizeof(RecordBuffer));
    return all.get();
  }
  std::vector<std::pair<std::size_t, std::size_t>> written_;
};

constexpr std::size_t kRingHeadWords = offsetof(RecordRing, waiting) / sizeof(RecordWord);

inline std::size_t fuzzedRing(std::uint8_t number) {
  return offsetof(RecordBuffer, rings) + number % 4 * sizeof(RecordRing);
}

// Writes a ring in use, valid except where the input says otherwise.
inline void writeRing(FuzzedArea& area, std::size_t ring, Input& input) {
  const auto how = input.take<std::uint8_t>();
  area.write(ring + offsetof(RecordRing, use), how & 3);
  area.write(ring + offsetof(RecordRing, communicator), how >> 2 & 1);
  area.write(ring + offsetof(RecordRing, rank), how >> 3 & 3);
  area.write(ring + offsetof(RecordRing, ranks), input.take<std::uint8_t>());
  area.write(ring + offsetof(RecordRing, issued), input.take<std::uint16_t>());
  area.write(ring + offsetof(RecordRing, waitsFor), input.take<std::uint8_t>());
  area.write(ring + offsetof(RecordRing, waitKind), how >> 5);
}

// Writes a whole record of a valid call.
inline void writeRecord(FuzzedArea& area, std::size_t record, std::uint64_t number, Input& input) {
  const auto call = input.take<std::uint8_t>();
  area.write(record + offsetof(RawRecord, seal), number + 1);
  area.write(record + offsetof(RawRecord, otherSeal), number + 1);
  area.write(record + offsetof(RawRecord, call), call % 8);
  area.write(record + offsetof(RawRecord, call) + 8, call >> 3 & 3);
  area.write(record + offsetof(RawRecord, call) + 16, input.take<std::uint8_t>());
  area.write(record + offsetof(RawRecord, ordinal), input.take<std::uint8_t>());
  area.write(record + offsetof(RawRecord, state), call >> 5);
}

inline void writeSome(FuzzedArea& area, Input& input) {
  const auto what = input.take<std::uint8_t>();
  const std::size_t ring = fuzzedRing(what >> 4);
  switch (what % 6) {
    case 0:
      writeRing(area, ring, input);
      break;
    case 1: {
      const auto number = input.take<std::uint16_t>();
      writeRecord(area, ring + offsetof(RecordRing, records) + number % kRecordsPerRing * sizeof(RawRecord),
                  number, input);
      break;
    }
    case 2:
      writeRecord(area, ring + offsetof(RecordRing, waiting), input.take<std::uint16_t>(), input);
      break;
    case 3: {
      const std::size_t word = input.take<std::uint8_t>() % kRingHeadWords;
      area.write(ring + word * sizeof(RecordWord), input.take<std::uint64_t>());
      break;
    }
    case 4:
      area.write((what & 16) != 0 ? offsetof(RecordBuffer, host) : ring + offsetof(RecordRing, reason),
                 input.piece(input.take<std::uint8_t>()));
      break;
    default: {
      const auto at = input.take<std::uint32_t>();
      area.write(at, input.piece(input.take<std::uint8_t>()));
    }
  }
}

// Checks a text of one line, or of several.
inline bool harmless(std::string_view text, bool lines) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0x7f || (c < 0x20 && !(lines && c == '\n'))) return false;
    // Control characters of the second kind, in UTF-8.
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0 &&
        static_cast<unsigned char>(text[i + 1]) >= 0x80)
      return false;
  }
  return true;
}

inline void checkStatus(ProcessRecord recorder) {
  require(harmless(recorder.host, false));
  for (const RankRecord& log : recorder.communicators) {
    require(log.rank >= 0 && log.rank < log.ranks && log.waitsFor < log.ranks);
    require(log.entries.size() <= kRecordsPerRing && harmless(log.reason, false));
  }
  cli::SeenProcess process{
      .pid = 1, .program = "program", .state = 'S', .recorders = {}, .seen = {1 << 30, 1 << 30}};
  process.recorders.push_back(std::move(recorder));
  for (const cli::SeenJob& job : cli::jobsOf({process})) {
    const std::vector<cli::Finding> findings = cli::findingsOf(job);
    for (const cli::Finding& finding : findings)
      require(!finding.ranks.empty() && harmless(finding.text, false));
    require(harmless(cli::statusText(job, findings, 4, {}), true));
    require(cli::statusJson(job, findings, 4)["ranks"].size() == job.seen.size());
  }
}

inline bool feedFlightArea(std::string_view bytes) {
  Input input(bytes);
  FuzzedArea area;
  area.write(offsetof(RecordBuffer, magic), kRecordMagic);
  area.write(offsetof(RecordBuffer, version), kRecordVersion);
  area.write(offsetof(RecordBuffer, bytes), sizeof(RecordBuffer));
  const auto cut = input.take<std::uint8_t>();
  const std::size_t end =
      cut < 128 ? sizeof(RecordBuffer) : input.take<std::uint32_t>() % sizeof(RecordBuffer);
  for (int i = 0; i < 64 && !input.empty(); ++i) writeSome(area, input);
  try {
    checkStatus(readRecordBuffer(area.bytes().first(end)));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
