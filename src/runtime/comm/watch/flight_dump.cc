#include "runtime/comm/watch/flight_dump.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <mutex>

#include "core/error.h"
#include "core/log.h"
#include "core/settings.h"
#include "runtime/comm/watch/call_record.h"
#include "runtime/comm/watch/record_buffer.h"

namespace xylem::comm {
namespace {

void dumpHead(const RecordRing& ring, TextLine& line) {
  line.add("communicator 0x").addHex(get(ring.communicator)).add(", rank ").add(get(ring.rank));
  line.add(" of ").add(get(ring.ranks)).add(": ").add(get(ring.issued)).add(" calls so far");
  if (get(ring.use) == static_cast<std::uint64_t>(RingUse::kFailed)) line.add("; it failed");
  if (get(ring.use) == static_cast<std::uint64_t>(RingUse::kJoining)) line.add("; its ranks are joining");
}

bool dumpWait(const RecordRing& ring, const TickClock& clock, TextLine& line) {
  const auto kind = static_cast<WaitKind>(get(ring.waitKind));
  if (kind == WaitKind::kNone) return false;
  const std::uint64_t peer = get(ring.waitsFor);
  line.add("  waits for ");
  if (peer == 0)
    line.add("others");
  else
    line.add("rank ").add(peer - 1);
  line.add(kind == WaitKind::kCheck ? ", to compare calls, for " : " for ");
  line.addSeconds(clock.nanosecondsSince(get(ring.waitsSince)));
  if (kind == WaitKind::kReplay) line.add(" in a replay of a graph");
  if (kind == WaitKind::kJoin || kind == WaitKind::kReplay) return true;
  if (const auto entry = CallRecord::from(wordsOf(ring.waiting))) {
    line.add(" in #").add(entry->number).add(" ");
    describe(line, entry->call);
  }
  return true;
}

}  // namespace

void dumpRecords(const RecordRing& ring, const TickClock& clock, std::size_t most, LineSink sink,
                 void* context) {
  TextLine head;
  dumpHead(ring, head);
  sink(head.text(), context);
  TextLine wait;
  if (dumpWait(ring, clock, wait)) sink(wait.text(), context);
  const std::uint64_t issued = get(ring.issued);
  const std::uint64_t shown = std::min<std::uint64_t>({issued, most, kRecordsPerRing});
  for (std::uint64_t number = issued; number-- > issued - shown;) {
    const auto entry = CallRecord::from(wordsOf(ring.records[number % kRecordsPerRing]));
    if (!entry || entry->number != number) continue;
    TextLine line;
    line.add("  ");
    describe(line, *entry, clock);
    sink(line.text(), context);
  }
}

std::string dumpRecords(const RecordRing& ring, std::size_t most) {
  struct Found {
    ClockReading start;
    const RecordRing* ring;
  } found{{}, &ring};
  forEachRecordBuffer(
      [](const RecordBuffer& buffer, void* context) {
        auto& wanted = *static_cast<Found*>(context);
        const auto* begin = buffer.rings.data();
        if (wanted.ring >= begin && wanted.ring < begin + buffer.rings.size())
          wanted.start = {get(buffer.startTicks), get(buffer.startNanoseconds)};
      },
      &found);
  std::string text;
  dumpRecords(
      ring, TickClock(found.start, ClockReading::now()), most,
      [](std::string_view line, void* context) {
        auto& all = *static_cast<std::string*>(context);
        if (!all.empty()) all += '\n';
        all += line;
      },
      &text);
  return text;
}

namespace {

constexpr std::size_t kCallsOnSignal = 8;

int output = STDERR_FILENO;
struct sigaction before {};

void writeLine(std::string_view text, void*) {
  TextLine line;
  line.add("xylem ").add(static_cast<int>(getpid())).add(": ").add(text);
  // One write for line and end, so that lines of several processes do not mix.
  std::array<char, 600> bytes{};
  const std::size_t length = std::min(line.text().size(), bytes.size() - 1);
  std::copy_n(line.text().data(), length, bytes.data());
  bytes[length] = '\n';
  // If writing fails, a signal handler cannot report it.
  [[maybe_unused]] const ssize_t written = ::write(output, bytes.data(), length + 1);
}

void dumpAll() {
  bool any = false;
  forEachRecordBuffer(
      [](const RecordBuffer& buffer, void* context) {
        const ClockReading start{buffer.startTicks.load(std::memory_order_relaxed),
                                 buffer.startNanoseconds.load(std::memory_order_relaxed)};
        const TickClock clock(start, ClockReading::now());
        for (const RecordRing& ring : buffer.rings) {
          if (ring.use.load(std::memory_order_acquire) == static_cast<std::uint64_t>(RingUse::kFree))
            continue;
          dumpRecords(ring, clock, kCallsOnSignal, writeLine, nullptr);
          *static_cast<bool*>(context) = true;
        }
      },
      &any);
  if (!any) writeLine("no communicators", nullptr);
}

std::string logFile(const std::string& pattern) {
  std::array<char, HOST_NAME_MAX + 1> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string_view host(name.data());
  return expandLogFileName(pattern, host.substr(0, host.find('.')), getpid());
}

void handle(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  dumpAll();
  if ((before.sa_flags & SA_SIGINFO) != 0)
    before.sa_sigaction(signal, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(signal);
  errno = error;
}

}  // namespace

void dumpOnSignal(const Settings& settings) {
  const auto signal = static_cast<int>(settings.integer(Setting::kDumpSignal));
  if (signal == 0) return;
  static std::mutex mutex;
  static bool installed = false;
  const std::lock_guard lock(mutex);
  if (installed) return;
  if (const std::string& pattern = settings.text(Setting::kDebugFile); !pattern.empty()) {
    // The file stays open until the process ends: the signal may come at any time.
    output = open(logFile(pattern).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (output < 0) output = STDERR_FILENO;
  }
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, &action, &before) != 0)
    throw Error(ResultCode::kInvalidArgument, "XYLEM_DUMP_SIGNAL: signal {} cannot be handled: {}", signal,
                errnoText(errno));
  installed = true;
}

}  // namespace xylem::comm
