#pragma once
// One record of the flight recorder, decoded. Records may come from another process's memory, so values out
// of range make them void. Decoding and describing needs no memory: signal handlers do both.
//
//   if (const auto record = CallRecord::from(wordsOf(raw))) describe(line, *record, clock);

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/comm/issue/choices.h"
#include "runtime/comm/issue/operation.h"
#include "runtime/comm/watch/record_buffer.h"
#include "runtime/comm/watch/text_line.h"

namespace xylem::comm {

// How a collective is executed.
struct CallPath {
  bool direct = false;  // in one exchange (runtime/collectives/direct_exchange.h): the rest has no meaning
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;
};
std::uint64_t packPath(const ChosenAlgorithm& chosen);
constexpr std::uint64_t kDirectPath = std::uint64_t{1} << 62;
std::optional<CallPath> unpackPath(std::uint64_t word);

constexpr std::size_t kRawRecordWords = sizeof(RawRecord) / sizeof(RecordWord);
using RawRecordWords = std::array<std::uint64_t, kRawRecordWords>;
RawRecordWords wordsOf(const RawRecord& record);

struct CallRecord {
  std::uint64_t number = 0;  // among the calls of its rank
  CallSignature call;
  std::optional<CallPath> way;
  std::uint64_t launch = 0;   // the number of its group
  std::uint64_t ordinal = 0;  // number of collectives before it: the same on all ranks
  std::uint64_t send = 0, receive = 0, stream = 0;
  std::uint64_t issued = 0, started = 0, finished = 0;  // ticks
  CallState state = CallState::kIssued;

  // Nothing if the record is being written or has values out of range.
  static std::optional<CallRecord> from(const RawRecordWords& words);
};

const char* name(CallState state);
// `#17 AllReduce of 1024 float sum, Ring/LL in 2 channels: running for 3.2 s`
void describe(TextLine& line, const CallRecord& entry, const TickClock& clock);

}  // namespace xylem::comm
