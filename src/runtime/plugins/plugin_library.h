#pragma once
// A plugin's library: found by the names that a variable gives, loaded for as long as the process lives,
// since plugins leave threads and exit handlers behind.
//
//   if (auto library = PluginLibrary::find({"NET/Plugin", kNetPrefix, "ofi"}, log))
//     if (const VersionedSymbol table = library->newest(abi::kNetSymbol, 10, 6); table.object) ...

#include <memory>
#include <string>
#include <string_view>

#include "core/log.h"
#include "core/shared_library.h"

namespace xylem {

// A table and its version; null if the library has none.
struct VersionedSymbol {
  void* object = nullptr;
  int version = 0;
};

struct LibrarySearch {
  std::string_view who;     // at the start of lines of the log: `NET/Plugin`
  std::string_view prefix;  // of file names
  std::string value;        // of the variable; empty: the default name
};

class PluginLibrary {
 public:
  // Null if there is none, which is no error; the log says what was tried.
  static std::shared_ptr<const PluginLibrary> find(const LibrarySearch& search, const Logger& log);

  // `the program` or the name under which it was found.
  std::string name() const { return name_.empty() ? "the program" : name_; }
  // The newest version of a symbol, `newest` downwards.
  VersionedSymbol newest(const char* symbol, int newest, int oldest) const;

  explicit PluginLibrary(const std::string& name)
      : name_(name), library_(name, SharedLibrary::Stay::kForEver) {}

 private:
  std::string name_;
  SharedLibrary library_;
};

}  // namespace xylem
