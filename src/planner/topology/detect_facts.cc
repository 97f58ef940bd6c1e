#include "planner/topology/detect_facts.h"

#include <fmt/format.h>

#include <sstream>

#include "planner/topology/attributes.h"
#include "planner/topology/detect_files.h"

namespace xylem::topology {
namespace {

// Hosts have 16 GPUs and a few dozen ports at most; this limit only bounds a hostile file.
constexpr std::size_t kMaxFactLines = 100'000;

}  // namespace

FactLine::FactLine(SourceLocation where, const std::string& text) : where_(std::move(where)) {
  std::istringstream words(text);
  words >> kind_;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) fail("`" + word + "`", "words such as dev=0");
    values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

std::string FactLine::text(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) fail(kind_ + " without `" + key + "`", key + "= in every line of this kind");
  return found->second;
}

int FactLine::number(const std::string& key) const {
  const int value = parseInt(text(key), -1);
  if (value < 0) fail(fmt::format("{}={}", key, text(key)), "a whole number, 0 or more");
  return value;
}

int FactLine::number(const std::string& key, int fallback) const { return has(key) ? number(key) : fallback; }

std::string FactLine::busId(const std::string& key) const {
  const auto id = parseBusId(text(key));
  if (!id) fail(key + "=" + text(key), "a bus id such as 0000:1b:00.0");
  return busIdText(*id);
}

void FactLine::fail(const std::string& found, const std::string& expected) const {
  throw InputError(where_, found, expected);
}

void forEachFact(const std::filesystem::path& file, const std::function<void(const FactLine&)>& visit) {
  int number = 0;
  for (const std::string& text : readLines(file, kMaxFactLines)) {
    ++number;
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string::npos || text[first] == '#') continue;
    visit(FactLine({file.string(), number}, text));
  }
}

}  // namespace xylem::topology
