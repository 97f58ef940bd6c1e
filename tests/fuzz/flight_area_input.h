#pragma once
// One input of the fuzzer of flight recorders: the memory of another process's, in which anything may stand.
// It is read, and made into what `xylem status` says, or it is refused; nothing that a terminal would obey is
// in what it says.
//
//   feedFlightArea(bytes);   // true if it was read

#include <memory>
#include <utility>
#include <vector>

#include "cli/status/text.h"
#include "runtime/comm/watch/flight_reader.h"
#include "core/error.h"
#include "fuzz/input.h"
#include "fuzz/require.h"

namespace xylem {

// An area, always the same one: what an input writes is taken back afterwards, as it is large.
class FuzzedArea {
 public:
  ~FuzzedArea() {
    for (const auto& [at, bytes] : written_) std::memset(memory() + at, 0, bytes);
  }
  std::span<const std::byte> bytes() const { return {memory(), sizeof(FlightArea)}; }

  void write(std::size_t at, std::span<const std::byte> bytes) {
    at %= sizeof(FlightArea);
    const std::size_t fits = std::min(bytes.size(), sizeof(FlightArea) - at);
    if (fits == 0) return;
    std::memcpy(memory() + at, bytes.data(), fits);
    written_.emplace_back(at, fits);
  }
  void write(std::size_t at, std::uint64_t word) { write(at, std::as_bytes(std::span(&word, 1))); }

 private:
  static std::byte* memory() {
    static const auto all = std::make_unique<std::byte[]>(sizeof(FlightArea));
    return all.get();
  }
  std::vector<std::pair<std::size_t, std::size_t>> written_;
};

constexpr std::size_t kFlightSlotWords = offsetof(FlightSlot, waiting) / sizeof(FlightWord);

inline std::size_t fuzzedSlot(std::uint8_t number) {
  return offsetof(FlightArea, slots) + number % 4 * sizeof(FlightSlot);
}

// A slot in use, as it should be but for what the input says.
inline void writeSlot(FuzzedArea& area, std::size_t slot, Input& input) {
  const auto how = input.take<std::uint8_t>();
  area.write(slot + offsetof(FlightSlot, use), how & 3);
  area.write(slot + offsetof(FlightSlot, communicator), how >> 2 & 1);
  area.write(slot + offsetof(FlightSlot, rank), how >> 3 & 3);
  area.write(slot + offsetof(FlightSlot, ranks), input.take<std::uint8_t>());
  area.write(slot + offsetof(FlightSlot, issued), input.take<std::uint16_t>());
  area.write(slot + offsetof(FlightSlot, waitsFor), input.take<std::uint8_t>());
  area.write(slot + offsetof(FlightSlot, waitKind), how >> 5);
}

// A whole record, of a call that is one.
inline void writeRecord(FuzzedArea& area, std::size_t record, std::uint64_t number, Input& input) {
  const auto call = input.take<std::uint8_t>();
  area.write(record + offsetof(FlightRecord, seal), number + 1);
  area.write(record + offsetof(FlightRecord, otherSeal), number + 1);
  area.write(record + offsetof(FlightRecord, call), call % 8);
  area.write(record + offsetof(FlightRecord, call) + 8, call >> 3 & 3);
  area.write(record + offsetof(FlightRecord, call) + 16, input.take<std::uint8_t>());
  area.write(record + offsetof(FlightRecord, ordinal), input.take<std::uint8_t>());
  area.write(record + offsetof(FlightRecord, state), call >> 5);
}

inline void writeSome(FuzzedArea& area, Input& input) {
  const auto what = input.take<std::uint8_t>();
  const std::size_t slot = fuzzedSlot(what >> 4);
  switch (what % 6) {
    case 0:
      writeSlot(area, slot, input);
      break;
    case 1: {
      const auto number = input.take<std::uint16_t>();
      writeRecord(area, slot + offsetof(FlightSlot, records) + number % kFlightEntries * sizeof(FlightRecord),
                  number, input);
      break;
    }
    case 2:
      writeRecord(area, slot + offsetof(FlightSlot, waiting), input.take<std::uint16_t>(), input);
      break;
    case 3: {
      const std::size_t word = input.take<std::uint8_t>() % kFlightSlotWords;
      area.write(slot + word * sizeof(FlightWord), input.take<std::uint64_t>());
      break;
    }
    case 4:
      area.write((what & 16) != 0 ? offsetof(FlightArea, host) : slot + offsetof(FlightSlot, reason),
                 input.piece(input.take<std::uint8_t>()));
      break;
    default: {
      const auto at = input.take<std::uint32_t>();
      area.write(at, input.piece(input.take<std::uint8_t>()));
    }
  }
}

// Of one line, or of what has several.
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

inline void checkStatus(FlightProcess recorder) {
  require(harmless(recorder.host, false));
  for (const FlightLog& log : recorder.communicators) {
    require(log.rank >= 0 && log.rank < log.ranks && log.waitsFor < log.ranks);
    require(log.entries.size() <= kFlightEntries && harmless(log.reason, false));
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
  area.write(offsetof(FlightArea, magic), kFlightMagic);
  area.write(offsetof(FlightArea, version), kFlightVersion);
  area.write(offsetof(FlightArea, bytes), sizeof(FlightArea));
  const auto cut = input.take<std::uint8_t>();
  const std::size_t end = cut < 128 ? sizeof(FlightArea) : input.take<std::uint32_t>() % sizeof(FlightArea);
  for (int i = 0; i < 64 && !input.empty(); ++i) writeSome(area, input);
  try {
    checkStatus(readFlightArea(area.bytes().first(end)));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
