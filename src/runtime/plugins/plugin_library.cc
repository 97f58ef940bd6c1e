#include "runtime/plugins/plugin_library.h"

#include <strings.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "core/per_process.h"

namespace xylem::plugins {
namespace {

constexpr std::string_view kStatic = "STATIC_PLUGIN";

bool startsIgnoringCase(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && strncasecmp(text.data(), start.data(), start.size()) == 0;
}

bool namesAFile(std::string_view value) {
  return value.find('/') != std::string_view::npos || (value.starts_with("lib") && value.ends_with(".so"));
}

}  // namespace

std::vector<std::string> libraryNames(std::string_view prefix, std::string_view value) {
  if (value.empty()) return {std::string(prefix) + ".so"};
  if (value.size() == 4 && startsIgnoringCase(value, "none")) return {};
  if (startsIgnoringCase(kStatic, value)) return {""};
  std::vector<std::string> names{std::string(value)};
  if (!namesAFile(value)) names.push_back(std::string(prefix) + "-" + std::string(value) + ".so");
  return names;
}

std::vector<std::string> pluginEntries(std::string_view list) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) entries.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  if (entries.empty()) entries.emplace_back();
  return entries;
}

namespace {

// Whether the linker found nothing of that name. It also looks into folders, and says the same of a library that another
// one needs. A name without a slash may be that of a folder beside the libraries.
bool isMissing(const std::string& name, const std::string& error) {
  if (name.find('/') == std::string::npos && error.find("Is a directory") != std::string::npos) return true;
  return error.starts_with(name + ":") && error.find("No such file") != std::string::npos;
}

}  // namespace

std::shared_ptr<const PluginLibrary> PluginLibrary::find(const LibrarySearch& search, const Logger& log) {
  std::string missing;
  bool failed = false;
  for (const std::string& name : libraryNames(search.prefix, search.value)) {
    auto library = std::make_shared<PluginLibrary>(name);
    if (library->library_) {
      log.info(Subsystem::kInit, "{}: Plugin load {} succeeded", search.who, library->name());
      return library;
    }
    if (isMissing(name, library->library_.error())) {
      missing += " " + name;
      continue;
    }
    failed = true;
    log.info(Subsystem::kInit, "{}: cannot load {}: {}", search.who, library->name(),
             library->library_.error());
  }
  if (!missing.empty() && !failed) log.info(Subsystem::kInit, "{}: Could not find:{}", search.who, missing);
  return nullptr;
}

VersionedSymbol PluginLibrary::newest(const char* symbol, int newest, int oldest) const {
  for (int version = newest; version >= oldest; --version)
    if (void* const object = library_.object((symbol + std::to_string(version)).c_str()))
      return {object, version};
  return {};
}

namespace {

constexpr std::size_t kMaxTextBytes = 1024;

struct Sink {
  std::mutex mutex;
  std::shared_ptr<const Logger> log;
};
Sink& sink() {
  static Sink& sink = *std::make_unique<Sink>().release();  // plugins log until the program ends
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
  std::array<char, kMaxTextBytes> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (severity == LogLevel::kWarn)
    log->warn("{}:{} {}", file == nullptr ? "" : file, line, text.data());
  else
    log->write({severity, part, text.data()});
}

std::unique_lock<std::mutex> oneAtATime() {
  static constinit PerProcess<std::mutex> mutexes;
  return std::unique_lock(mutexes.get());
}

abi::LogFunction pluginLog(std::shared_ptr<const Logger> log) {
  const std::lock_guard lock(sink().mutex);
  sink().log = std::move(log);
  return xylemPluginLog;
}

}  // namespace xylem::plugins
