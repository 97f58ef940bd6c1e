#pragma once
// One entry of a flight recorder, taken apart. It may come from another process's memory, so nothing is
// believed that is not in range. Needs no memory: signal handlers use it.
//
//   if (const auto entry = FlightEntry::from(words)) describe(line, *entry, clock);

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/comm/issue/call_signature.h"
#include "runtime/comm/issue/choices.h"
#include "runtime/comm/watch/flight_clock.h"
#include "runtime/comm/watch/flight_layout.h"
#include "runtime/comm/watch/flight_line.h"

namespace xylem {

// How a collective goes.
struct FlightWay {
  bool direct = false;  // in one exchange (runtime/collectives/direct_exchange.h); nothing else is known then
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;
};
std::uint64_t packWay(const ChosenWay& way);
constexpr std::uint64_t kDirectWay = std::uint64_t{1} << 62;
std::optional<FlightWay> unpackWay(std::uint64_t word);

constexpr std::size_t kFlightRecordWords = sizeof(FlightRecord) / sizeof(FlightWord);
using FlightRecordWords = std::array<std::uint64_t, kFlightRecordWords>;
FlightRecordWords wordsOf(const FlightRecord& record);

struct FlightEntry {
  std::uint64_t number = 0;  // among the calls of its rank
  CallSignature call;
  std::optional<FlightWay> way;
  std::uint64_t launch = 0;   // calls with the same number are one group
  std::uint64_t ordinal = 0;  // collectives before it: the same on all ranks
  std::uint64_t send = 0, receive = 0, stream = 0;
  std::uint64_t issued = 0, started = 0, finished = 0;  // ticks
  FlightState state = FlightState::kIssued;

  // Nothing if it is being written or makes no sense.
  static std::optional<FlightEntry> from(const FlightRecordWords& words);
};

const char* name(FlightState state);
// `#17 AllReduce of 1024 float sum, Ring/LL in 2 channels: running for 3.2 s`
void describe(FlightLine& line, const FlightEntry& entry, const FlightClock& clock);

}  // namespace xylem
