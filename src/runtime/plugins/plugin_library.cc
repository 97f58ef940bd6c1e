#include "runtime/plugins/plugin_library.h"

#include "runtime/plugins/library_names.h"

namespace xylem {

std::shared_ptr<const PluginLibrary> PluginLibrary::find(const LibrarySearch& search, const Logger& log) {
  std::string tried;
  for (const std::string& name : libraryNames(search.prefix, search.value)) {
    auto library = std::make_shared<PluginLibrary>(name);
    if (library->library_) {
      log.info(Subsystem::kInit, "{}: Plugin load {} succeeded", search.who, library->name());
      return library;
    }
    // What is not there is no news; what is there and cannot be loaded is.
    if (library->library_.error().find("No such file") == std::string::npos)
      log.info(Subsystem::kInit, "{}: {}", search.who, library->library_.error());
    tried += " " + name;
  }
  if (!tried.empty()) log.info(Subsystem::kInit, "{}: Could not find:{}", search.who, tried);
  return nullptr;
}

VersionedSymbol PluginLibrary::newest(const char* symbol, int newest, int oldest) const {
  for (int version = newest; version >= oldest; --version)
    if (void* const object = library_.object((symbol + std::to_string(version)).c_str()))
      return {object, version};
  return {};
}

}  // namespace xylem
