#include "core/interface_list.h"

#include <algorithm>
#include <string_view>

#include "core/setting_values.h"

namespace xylem {

bool interfaceMatches(const std::string& list, const std::string& name) {
  std::string_view rest(list);
  const bool exclude = rest.starts_with('^');
  if (exclude) rest.remove_prefix(1);
  const bool exact = rest.starts_with('=');
  if (exact) rest.remove_prefix(1);
  if (rest.empty()) return true;
  bool listed = false;
  for (std::size_t entries = 0; !rest.empty() && !listed && entries < kMaxListedInterfaces;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::string_view wanted = item.substr(0, item.find(':'));
    if (wanted.empty()) continue;
    ++entries;
    listed = exact ? name == wanted : name.starts_with(wanted);
  }
  return listed != exclude;
}

}  // namespace xylem
