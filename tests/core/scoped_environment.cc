#include "core/scoped_environment.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace xylem {
namespace {

// The variables that decide what Settings::fromEnvironment finds, and those of the tests' plugins.
std::map<std::string, std::string> relevantVariables() {
  std::map<std::string, std::string> found;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (name.starts_with("NCCL_") || name.starts_with("XYLEM_") || name.starts_with("TEST_") ||
        name == "HOME")
      found.emplace(name, text.substr(equals + 1));
  }
  return found;
}

void clear() {
  for (const auto& [name, value] : relevantVariables()) unsetenv(name.c_str());
}

}  // namespace

ScopedEnvironment::ScopedEnvironment(std::initializer_list<std::pair<std::string, std::string>> variables)
    : saved_(relevantVariables()) {
  clear();
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
}

ScopedEnvironment::~ScopedEnvironment() {
  clear();
  for (const auto& [name, value] : saved_) setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace xylem
