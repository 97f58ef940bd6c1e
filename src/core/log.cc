#include "core/log.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <mutex>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/settings.h"

namespace xylem {
namespace {

constexpr std::pair<const char*, LogLevel> kLevels[] = {
    {"VERSION", LogLevel::kVersion}, {"WARN", LogLevel::kWarn},   {"INFO", LogLevel::kInfo},
    {"ABORT", LogLevel::kAbort},     {"TRACE", LogLevel::kTrace},
};

constexpr std::pair<const char*, Subsystem> kSubsystems[] = {
    {"INIT", Subsystem::kInit},
    {"COLL", Subsystem::kColl},
    {"P2P", Subsystem::kP2p},
    {"SHM", Subsystem::kShm},
    {"NET", Subsystem::kNet},
    {"GRAPH", Subsystem::kGraph},
    {"TUNING", Subsystem::kTuning},
    {"ENV", Subsystem::kEnv},
    {"ALLOC", Subsystem::kAlloc},
    {"CALL", Subsystem::kCall},
    {"PROXY", Subsystem::kProxy},
    {"NVLS", Subsystem::kNvls},
    {"BOOTSTRAP", Subsystem::kBootstrap},
    {"REG", Subsystem::kReg},
    {"PROFILE", Subsystem::kProfile},
    {"RAS", Subsystem::kRas},
    {"ALL", Subsystem::kAll},
};

bool equalsIgnoringCase(std::string_view a, const char* b) {
  return a.size() == std::string_view(b).size() && strncasecmp(a.data(), b, a.size()) == 0;
}

thread_local int threadDevice = -1;

double microsecondsSinceStart() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// The name up to the first dot, as NCCL prints it.
std::string shortHostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  std::string text(name.data());
  return text.substr(0, text.find('.'));
}

// A process begins its log file anew once; what opens the file after that adds to it.
const char* openingMode(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> begun;
  const std::lock_guard lock(mutex);
  return begun.insert(name).second ? "w" : "a";
}

}  // namespace

std::uint32_t parseSubsystems(std::string_view text, std::vector<std::string>* unknown) {
  const bool inverted = !text.empty() && text.front() == '^';
  if (inverted) text.remove_prefix(1);
  std::uint32_t mask = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    bool found = word.empty();
    for (const auto& [name, subsystem] : kSubsystems) {
      if (!equalsIgnoringCase(word, name)) continue;
      mask |= static_cast<std::uint32_t>(subsystem);
      found = true;
    }
    if (!found && unknown != nullptr) unknown->emplace_back(word);
  }
  return inverted ? ~mask : mask;
}

std::string expandLogFileName(std::string_view pattern, std::string_view host, int pid) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      name += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'h':
        name += host;
        break;
      case 'p':
        name += std::to_string(pid);
        break;
      case '%':
        name += '%';
        break;
      default:
        name += '%', name += pattern[i];
    }
  }
  return name;
}

Logger::Logger(const Settings& settings, std::uint32_t defaultSubsystems, std::FILE* out)
    : mask_(defaultSubsystems), host_(shortHostName()), out_(out), file_(nullptr, &std::fclose) {
  const std::string& level = settings.text(Setting::kDebug);
  for (const auto& [name, value] : kLevels)
    if (equalsIgnoringCase(level, name)) level_ = value;
  if (settings.isSet(Setting::kDebugSubsys))
    mask_ = parseSubsystems(settings.text(Setting::kDebugSubsys), nullptr);
  const std::string& pattern = settings.text(Setting::kDebugFile);
  if (level_ <= LogLevel::kVersion || pattern.empty()) return;
  const std::string name = expandLogFileName(pattern, host_, getpid());
  file_.reset(std::fopen(name.c_str(), openingMode(name)));
  if (!file_)
    throw Error(ResultCode::kSystemError, "NCCL_DEBUG_FILE: cannot write {}: {}", name, errnoText(errno));
  // Append mode keeps what others write to the file, such as a dump on a signal.
  fcntl(fileno(file_.get()), F_SETFL, O_APPEND);
  out_ = file_.get();
}

Logger::~Logger() = default;

void Logger::setThreadDevice(int device) { threadDevice = device; }

void Logger::version(std::string_view text) const {
  if (level_ < LogLevel::kVersion) return;
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
}

void Logger::write(LogLevel level, const std::string& text) const {
  const int pid = getpid();
  const long tid = syscall(SYS_gettid);
  std::string line;
  switch (level) {
    case LogLevel::kWarn:
      line = fmt::format("\n{}:{}:{} [{}] NCCL WARN {}\n", host_, pid, tid, threadDevice, text);
      break;
    case LogLevel::kTrace:
      line = fmt::format("{}:{}:{} [{}] {:f} NCCL TRACE {}\n", host_, pid, tid, threadDevice,
                         microsecondsSinceStart(), text);
      break;
    default:
      line = fmt::format("{}:{}:{} [{}] NCCL INFO {}\n", host_, pid, tid, threadDevice, text);
  }
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

}  // namespace xylem
