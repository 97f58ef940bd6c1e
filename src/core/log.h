#pragma once
// Logging in NCCL's line format, steered by NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE.
//
//   Logger log(settings);
//   log.info(Subsystem::kInit, "comm {} rank {} nRanks {}", comm, rank, nRanks);
//     ->  host:4711:4712 [0] NCCL INFO comm 0x55 rank 0 nRanks 4
//
// The planner does not log: it returns its lines as values (LogLine) and the edge writes them.

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xylem {

class Settings;

enum class LogLevel : int { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3, kAbort = 4, kTrace = 5 };

enum class Subsystem : std::uint32_t {
  kInit = 0x1,
  kColl = 0x2,
  kP2p = 0x4,
  kShm = 0x8,
  kNet = 0x10,
  kGraph = 0x20,
  kTuning = 0x40,
  kEnv = 0x80,
  kAlloc = 0x100,
  kCall = 0x200,
  kProxy = 0x400,
  kNvls = 0x800,
  kBootstrap = 0x1000,
  kReg = 0x2000,
  kProfile = 0x4000,
  kRas = 0x8000,
  kAll = 0xffffffff,
};

constexpr std::uint32_t kDefaultSubsystems = static_cast<std::uint32_t>(Subsystem::kInit) |
                                             static_cast<std::uint32_t>(Subsystem::kBootstrap) |
                                             static_cast<std::uint32_t>(Subsystem::kEnv);
// The default of `xylem plan`, which also shows the planner's own lines.
constexpr std::uint32_t kPlannerSubsystems = kDefaultSubsystems |
                                             static_cast<std::uint32_t>(Subsystem::kGraph) |
                                             static_cast<std::uint32_t>(Subsystem::kTuning);

// The mask of a NCCL_DEBUG_SUBSYS text ("INIT,GRAPH", "^NET,ENV", "ALL"); unknown names are appended to
// `unknown`.
std::uint32_t parseSubsystems(std::string_view text, std::vector<std::string>* unknown);

// A line that the planner, which does no output itself, returns to be logged.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  Subsystem subsystem = Subsystem::kGraph;
  std::string text;
  bool whole = false;  // NCCL does not cut it where its buffer for lines ends
};

// The file name of a NCCL_DEBUG_FILE pattern: %h is the host's name, %p the process id, %% a percent sign.
std::string expandLogFileName(std::string_view pattern, std::string_view host, int pid);

// One per process; safe to use from several threads (each line is one write).
class Logger {
 public:
  // Writes to NCCL_DEBUG_FILE if that is set, else to `out` (NCCL: stdout). Throws an Error that names the
  // file if it cannot be opened.
  explicit Logger(const Settings& settings, std::uint32_t defaultSubsystems = kDefaultSubsystems,
                  std::FILE* out = stdout);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  bool enabled(LogLevel level, Subsystem subsystem) const {
    return level <= level_ && (level == LogLevel::kWarn || level == LogLevel::kVersion ||
                               (mask_ & static_cast<std::uint32_t>(subsystem)) != 0);
  }

  template <typename... Args>
  void info(Subsystem subsystem, fmt::format_string<Args...> text, Args&&... args) const {
    if (enabled(LogLevel::kInfo, subsystem))
      write(LogLevel::kInfo, fmt::format(text, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void trace(Subsystem subsystem, fmt::format_string<Args...> text, Args&&... args) const {
    if (enabled(LogLevel::kTrace, subsystem))
      write(LogLevel::kTrace, fmt::format(text, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) const {
    if (enabled(LogLevel::kWarn, Subsystem::kAll))
      write(LogLevel::kWarn, fmt::format(text, std::forward<Args>(args)...));
  }

  void write(const LogLine& line) const {
    if (enabled(line.level, line.subsystem)) write(line.level, line.text);
  }
  // Writes the line that NCCL_DEBUG=VERSION asks for; called once at start-up.
  void version(std::string_view text) const;

  // Sets the number in brackets: the current device of the calling thread. It is -1 before, as in NCCL.
  static void setThreadDevice(int device);

 private:
  void write(LogLevel level, const std::string& text) const;

  LogLevel level_ = LogLevel::kNone;
  std::uint32_t mask_ = kDefaultSubsystems;
  std::string host_;
  std::FILE* out_ = nullptr;  // the constructor's `out`, or file_
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace xylem
