#include "runtime/comm/watch/flight_dump.h"

#include <algorithm>

#include "runtime/comm/watch/flight_area.h"
#include "runtime/comm/watch/flight_entry.h"

namespace xylem {
namespace {

void dumpHead(const FlightSlot& slot, FlightLine& line) {
  line.add("communicator 0x").addHex(get(slot.communicator)).add(", rank ").add(get(slot.rank));
  line.add(" of ").add(get(slot.ranks)).add(": ").add(get(slot.issued)).add(" calls so far");
  if (get(slot.use) == static_cast<std::uint64_t>(FlightUse::kFailed)) line.add("; it failed");
}

bool dumpWait(const FlightSlot& slot, const FlightClock& clock, FlightLine& line) {
  const auto kind = static_cast<FlightWait>(get(slot.waitKind));
  if (kind == FlightWait::kNone) return false;
  const std::uint64_t peer = get(slot.waitsFor);
  line.add("  waits for ");
  if (peer == 0)
    line.add("others");
  else
    line.add("rank ").add(peer - 1);
  line.add(kind == FlightWait::kCheck ? ", to compare calls, for " : " for ");
  line.addSeconds(clock.nanosecondsSince(get(slot.waitsSince)));
  if (const auto entry = FlightEntry::from(wordsOf(slot.waiting))) {
    line.add(" in #").add(entry->number).add(" ");
    describe(line, entry->call);
  }
  return true;
}

}  // namespace

void dumpFlight(const FlightSlot& slot, const FlightClock& clock, std::size_t most, FlightSink sink,
                void* context) {
  FlightLine head;
  dumpHead(slot, head);
  sink(head.text(), context);
  FlightLine wait;
  if (dumpWait(slot, clock, wait)) sink(wait.text(), context);
  const std::uint64_t issued = get(slot.issued);
  const std::uint64_t shown = std::min<std::uint64_t>({issued, most, kFlightEntries});
  for (std::uint64_t number = issued; number-- > issued - shown;) {
    const auto entry = FlightEntry::from(wordsOf(slot.records[number % kFlightEntries]));
    if (!entry || entry->number != number) continue;
    FlightLine line;
    line.add("  ");
    describe(line, *entry, clock);
    sink(line.text(), context);
  }
}

std::string dumpFlight(const FlightSlot& slot, std::size_t most) {
  struct Found {
    FlightMoment start;
    const FlightSlot* slot;
  } found{{}, &slot};
  forEachFlightArea(
      [](const FlightArea& area, void* context) {
        auto& wanted = *static_cast<Found*>(context);
        const auto* begin = area.slots.data();
        if (wanted.slot >= begin && wanted.slot < begin + area.slots.size())
          wanted.start = {get(area.startTicks), get(area.startNanoseconds)};
      },
      &found);
  std::string text;
  dumpFlight(
      slot, FlightClock(found.start, FlightMoment::now()), most,
      [](std::string_view line, void* context) {
        auto& all = *static_cast<std::string*>(context);
        if (!all.empty()) all += '\n';
        all += line;
      },
      &text);
  return text;
}

}  // namespace xylem
