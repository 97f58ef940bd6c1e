#pragma once
// An input of the fuzzer of flight recorders: the memory of another process, with any content. It is read and
// made into the text of `xylem status`, or it is refused. That text has no characters that command a
// terminal.
//
//   feedFlightArea(bytes);   // true if it was read

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/status/text.h"
#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/comm/watch/record_reader.h"

namespace xylem {

// A buffer that all inputs share, as it is large: the bytes that an input writes are cleared afterwards.
class FuzzedArea {
 public:
  ~FuzzedArea() {
    for (const auto& [at, bytes] : written_) std::memset(memory() + at, 0, bytes);
  }
  std::span<const std::byte> bytes() const { return {memory(), sizeof(comm::RecordBuffer)}; }

  void write(std::size_t at, std::span<const std::byte> bytes) {
    at %= sizeof(comm::RecordBuffer);
    const std::size_t fits = std::min(bytes.size(), sizeof(comm::RecordBuffer) - at);
    if (fits == 0) return;
    std::memcpy(memory() + at, bytes.data(), fits);
    written_.emplace_back(at, fits);
  }
  void write(std::size_t at, std::uint64_t word) { write(at, std::as_bytes(std::span(&word, 1))); }

 private:
  static std::byte* memory() {
    static const auto all = std::make_unique<std::byte[]>(sizeof(comm::RecordBuffer));
    return all.get();
  }
  std::vector<std::pair<std::size_t, std::size_t>> written_;
};

constexpr std::size_t kRingHeadWords = offsetof(comm::RecordRing, waiting) / sizeof(comm::RecordWord);

inline std::size_t fuzzedRing(std::uint8_t number) {
  return offsetof(comm::RecordBuffer, rings) + number % 4 * sizeof(comm::RecordRing);
}

// Writes a ring in use, valid except where the input says otherwise.
inline void writeRing(FuzzedArea& area, std::size_t ring, Input& input) {
  const auto how = input.take<std::uint8_t>();
  area.write(ring + offsetof(comm::RecordRing, use), how & 3);
  area.write(ring + offsetof(comm::RecordRing, communicator), how >> 2 & 1);
  area.write(ring + offsetof(comm::RecordRing, rank), how >> 3 & 3);
  area.write(ring + offsetof(comm::RecordRing, ranks), input.take<std::uint8_t>());
  area.write(ring + offsetof(comm::RecordRing, issued), input.take<std::uint16_t>());
  area.write(ring + offsetof(comm::RecordRing, waitsFor), input.take<std::uint8_t>());
  area.write(ring + offsetof(comm::RecordRing, waitKind), how >> 5);
}

// Writes a whole record of a valid call.
inline void writeRecord(FuzzedArea& area, std::size_t record, std::uint64_t number, Input& input) {
  const auto call = input.take<std::uint8_t>();
  area.write(record + offsetof(comm::RawRecord, seal), number + 1);
  area.write(record + offsetof(comm::RawRecord, otherSeal), number + 1);
  area.write(record + offsetof(comm::RawRecord, call), call % 8);
  area.write(record + offsetof(comm::RawRecord, call) + 8, call >> 3 & 3);
  area.write(record + offsetof(comm::RawRecord, call) + 16, input.take<std::uint8_t>());
  area.write(record + offsetof(comm::RawRecord, ordinal), input.take<std::uint8_t>());
  area.write(record + offsetof(comm::RawRecord, state), call >> 5);
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
      writeRecord(area,
                  ring + offsetof(comm::RecordRing, records) +
                      number % comm::kRecordsPerRing * sizeof(comm::RawRecord),
                  number, input);
      break;
    }
    case 2:
      writeRecord(area, ring + offsetof(comm::RecordRing, waiting), input.take<std::uint16_t>(), input);
      break;
    case 3: {
      const std::size_t word = input.take<std::uint8_t>() % kRingHeadWords;
      area.write(ring + word * sizeof(comm::RecordWord), input.take<std::uint64_t>());
      break;
    }
    case 4:
      area.write(
          (what & 16) != 0 ? offsetof(comm::RecordBuffer, host) : ring + offsetof(comm::RecordRing, reason),
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

inline void checkStatus(comm::ProcessRecord recorder) {
  require(harmless(recorder.host, false));
  for (const comm::RankRecord& log : recorder.communicators) {
    require(log.rank >= 0 && log.rank < log.ranks && log.waitsFor < log.ranks);
    require(log.entries.size() <= comm::kRecordsPerRing && harmless(log.reason, false));
  }
  comm::SeenProcess process{
      .pid = 1, .program = "program", .state = 'S', .recorders = {}, .seen = {1 << 30, 1 << 30}};
  process.recorders.push_back(std::move(recorder));
  for (const comm::SeenJob& job : comm::jobsOf({process})) {
    const std::vector<cli::Finding> findings = cli::findingsOf(job);
    for (const cli::Finding& finding : findings)
      require(!finding.ranks.empty() && harmless(finding.text, false));
    require(harmless(cli::statusText(job, findings, 4, {}), true));
    require(cli::toJson(job, findings, 4)["ranks"].size() == job.seen.size());
  }
}

inline bool feedFlightArea(std::string_view bytes) {
  Input input(bytes);
  FuzzedArea area;
  area.write(offsetof(comm::RecordBuffer, magic), comm::kRecordMagic);
  area.write(offsetof(comm::RecordBuffer, version), comm::kRecordVersion);
  area.write(offsetof(comm::RecordBuffer, bytes), sizeof(comm::RecordBuffer));
  const auto cut = input.take<std::uint8_t>();
  const std::size_t end =
      cut < 128 ? sizeof(comm::RecordBuffer) : input.take<std::uint32_t>() % sizeof(comm::RecordBuffer);
  for (int i = 0; i < 64 && !input.empty(); ++i) writeSome(area, input);
  try {
    checkStatus(comm::readRecordBuffer(area.bytes().first(end)));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
