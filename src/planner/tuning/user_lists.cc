#include "planner/tuning/user_lists.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

#include "core/error.h"

namespace xylem {
namespace {

// The parts between separators; empty ones do not count.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool equalIgnoringCase(const std::string& a, const char* b) { return strcasecmp(a.c_str(), b) == 0; }

class Parser {
 public:
  Parser(std::span<const char* const> names, const std::string& origin) : names_(names), origin_(origin) {}

  UserList parse(std::string_view text) {
    const std::vector<std::string> entries = split(text, ';');
    if (entries.empty()) fail(text, "a list of names");
    for (std::size_t i = 0; i < entries.size(); ++i) parseEntry(entries[i], i == 0);
    return list_;
  }

 private:
  void parseEntry(const std::string& entry, bool first) {
    const std::vector<std::string> parts = split(entry, ':');
    if (parts.empty() || parts.size() > 2) fail(entry, "[collective:]names");
    if (parts.size() == 1 && !first)
      fail(entry, "a collective before the names (only the first entry may leave it out)");
    const std::vector<bool> wanted = parseNames(parts.back());
    bool found = false;
    for (const Collective collective : kAllCollectives) {
      if (parts.size() == 2 && !equalIgnoringCase(parts.front(), name(collective))) continue;
      list_[collective] = wanted;
      found = true;
    }
    if (!found) fail(parts.front(), "Broadcast, Reduce, AllGather, ReduceScatter or AllReduce");
  }

  std::vector<bool> parseNames(const std::string& text) {
    const bool except = text.front() == '^';
    std::vector<bool> wanted(names_.size(), except);
    for (const std::string& word : split(std::string_view(text).substr(except ? 1 : 0), ',')) {
      const auto known = std::find_if(names_.begin(), names_.end(),
                                      [&](const char* name) { return equalIgnoringCase(word, name); });
      if (known == names_.end()) fail(word, fmt::format("one of {}", fmt::join(names_, ", ")));
      wanted[static_cast<std::size_t>(known - names_.begin())] = !except;
    }
    return wanted;
  }

  [[noreturn]] void fail(std::string_view found, const std::string& expected) const {
    throw InputError({origin_, 0}, fmt::format("`{}`", found), expected);
  }

  std::span<const char* const> names_;
  const std::string& origin_;
  UserList list_;
};

}  // namespace

UserList parseUserList(std::string_view text, std::span<const char* const> names, const std::string& origin) {
  return Parser(names, origin).parse(text);
}

}  // namespace xylem
