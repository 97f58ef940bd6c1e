#include "runtime/plugins/plugin_log.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace xylem {
namespace {

constexpr std::size_t kMostText = 1024;

struct Sink {
  std::mutex mutex;
  std::shared_ptr<const Logger> log;
};
Sink& sink() {
  static Sink sink;
  return sink;
}

}  // namespace

extern "C" __attribute__((format(printf, 5, 6))) void xylemPluginLog(int level, unsigned long flags,
                                                                     const char* file, int line,
                                                                     const char* format, ...) {
  std::shared_ptr<const Logger> log;
  {
    const std::lock_guard lock(sink().mutex);
    log = sink().log;
  }
  const auto severity = static_cast<LogLevel>(level);
  const auto part = static_cast<Subsystem>(static_cast<std::uint32_t>(flags));
  if (!log || !log->enabled(severity, part)) return;
  std::array<char, kMostText> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (severity == LogLevel::kWarn)
    log->warn("{}:{} {}", file == nullptr ? "" : file, line, text.data());
  else
    log->write({severity, part, text.data()});
}

abi::LogFunction pluginLog(std::shared_ptr<const Logger> log) {
  const std::lock_guard lock(sink().mutex);
  sink().log = std::move(log);
  return xylemPluginLog;
}

}  // namespace xylem
