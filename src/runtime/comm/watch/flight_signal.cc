// The signal that asks for a dump. The handler uses nothing but the recorder's memory, the stack and write.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <mutex>

#include "runtime/comm/watch/flight_area.h"
#include "runtime/comm/watch/flight_dump.h"
#include "runtime/comm/watch/flight_entry.h"
#include "core/error.h"
#include "core/log.h"
#include "core/settings.h"

namespace xylem {
namespace {

constexpr std::size_t kCallsOnSignal = 8;

int output = STDERR_FILENO;
struct sigaction before {};

void writeLine(std::string_view text, void*) {
  FlightLine line;
  line.add("xylem ").add(static_cast<int>(getpid())).add(": ").add(text);
  // The line's end goes with it, so that lines of several processes do not mix.
  std::array<char, 600> bytes{};
  const std::size_t length = std::min(line.text().size(), bytes.size() - 1);
  std::copy_n(line.text().data(), length, bytes.data());
  bytes[length] = '\n';
  // There is nobody to tell that it cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(output, bytes.data(), length + 1);
}

void dumpAll() {
  bool any = false;
  forEachFlightArea(
      [](const FlightArea& area, void* context) {
        const FlightMoment start{area.startTicks.load(std::memory_order_relaxed),
                                 area.startNanoseconds.load(std::memory_order_relaxed)};
        const FlightClock clock(start, FlightMoment::now());
        for (const FlightSlot& slot : area.slots) {
          if (slot.use.load(std::memory_order_acquire) == static_cast<std::uint64_t>(FlightUse::kFree))
            continue;
          dumpFlight(slot, clock, kCallsOnSignal, writeLine, nullptr);
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
    // Stays open until the process ends: the signal may come at any time.
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

}  // namespace xylem
