#pragma once
// Common to all kinds of plugins: their library, found by NCCL's rules from a variable such as
// NCCL_NET_PLUGIN, their log, and their result codes.
//
//   libraryNames("libnccl-net", "ofi")    ->  {"ofi", "libnccl-net-ofi.so"}
//   if (auto library = PluginLibrary::find({"NET/Plugin", kNetPrefix, "ofi"}, log))
//     if (const VersionedSymbol table = library->newest(abi::kNetSymbol, 10, 6); table.object) ...
//   requireSuccess(functions.init(pluginLog(log)), "init", "net plugin Test");

#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/shared_library.h"
#include "runtime/plugins/abi.h"

namespace xylem::plugins {

constexpr const char* kNetPrefix = "libnccl-net";
constexpr const char* kTunerPrefix = "libnccl-tuner";
constexpr const char* kProfilerPrefix = "libnccl-profiler";

// The names of files to try, in this order; an empty name is the program itself. No names for `none`. If the
// variable is set, the default name is not tried.
std::vector<std::string> libraryNames(std::string_view prefix, std::string_view value);

// The entries of a comma-separated list; an empty list has one empty entry.
std::vector<std::string> pluginEntries(std::string_view list);

// A table and its version; a null object if the library has none.
struct VersionedSymbol {
  void* object = nullptr;
  int version = 0;
};

struct LibrarySearch {
  std::string_view who;     // starts lines of the log: `NET/Plugin`
  std::string_view prefix;  // of names of files
  std::string value;        // of the variable; empty: the default name
};

class PluginLibrary {
 public:
  // Null if there is no such library, which is no error; the log says which names were tried, and why a library that there is
  // cannot be loaded.
  static std::shared_ptr<const PluginLibrary> find(const LibrarySearch& search, const Logger& log);

  // `the program`, or the name under which it was found.
  std::string name() const { return name_.empty() ? "the program" : name_; }
  // The newest version of a symbol, from `newest` down to `oldest`.
  VersionedSymbol newest(const char* symbol, int newest, int oldest) const;

  explicit PluginLibrary(const std::string& name)
      : name_(name), library_(name, SharedLibrary::Stay::kForEver) {}

 private:
  std::string name_;
  SharedLibrary library_;
};

// While one thread makes a plugin ready or ends a use of it, others wait: plugins count their uses without locks.
std::unique_lock<std::mutex> oneAtATime();

// Returns the function through which plugins log. From now on all plugins of the process log to `log`.
abi::LogFunction pluginLog(std::shared_ptr<const Logger> log);

// `system error (2)`.
inline std::string resultText(abi::Result result) {
  static constexpr const char* kTexts[] = {"success",        "CUDA error",       "system error",
                                           "internal error", "invalid argument", "invalid usage",
                                           "remote error",   "in progress"};
  const bool known = result >= 0 && result < static_cast<int>(std::size(kTexts));
  return fmt::format("{} ({})", known ? kTexts[result] : "unknown result", result);
}

// The name in a plugin's table.
inline std::string nameOf(const char* name) { return name == nullptr ? "without a name" : name; }

// `net plugin Test: isend failed: internal error (3)`; the plugin is given with its kind.
inline std::string failureText(const std::string& plugin, const char* function, abi::Result result) {
  return fmt::format("{}: {} failed: {}", plugin, function, resultText(result));
}

// A plugin that fails is ncclSystemError whatever it returns: its own code would blame the library, or the program that
// calls it.
inline void requireSuccess(abi::Result result, const char* function, const std::string& plugin) {
  if (result != abi::kSuccess)
    throw Error(ResultCode::kSystemError, "{}", failureText(plugin, function, result));
}

// Throws if a table lacks a function that every plugin of its kind has, and names the function.
struct TableFunction {
  const char* name = nullptr;
  bool there = false;
};
inline void requireFunctions(const std::string& plugin, int version,
                             std::initializer_list<TableFunction> functions) {
  for (const auto& [function, there] : functions)
    if (!there)
      throw Error(ResultCode::kInvalidUsage, "{} (v{}) has no function {}", plugin, version, function);
}

// Whether a result means a broken connection, which plugins report in two ways.
constexpr bool breaksLink(abi::Result result) {
  return result == abi::kSystemError || result == abi::kRemoteError;
}

}  // namespace xylem::plugins
