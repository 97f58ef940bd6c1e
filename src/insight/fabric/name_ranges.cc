#include "insight/fabric/name_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace xylem::fabric {
namespace {

constexpr std::size_t kMaxDigits = 9;
constexpr std::string_view kSpecial = " \t\r\n\v\f,[]#";

class NameList {
 public:
  NameList(std::string_view text, const SourceLocation& where) : text_(text), where_(where) {}

  std::vector<std::string> expand() const {
    std::vector<std::string> all;
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = endOfItem(begin);
      for (std::string& name : item(text_.substr(begin, end - begin))) all.push_back(std::move(name));
      limit(all.size());
      begin = end + 1;
    }
    return all;
  }

 private:
  [[noreturn]] void refuse() const {
    throw InputError(where_, fmt::format("`{}`", text_), "names, as leaf0,leaf1 or leaf[0-7,12]");
  }
  void limit(std::size_t names) const {
    if (names > kMaxNamesOfList)
      throw InputError(where_, fmt::format("`{}`", text_), fmt::format("at most {} names", kMaxNamesOfList));
  }

  // Returns the position of the next comma outside of brackets, or the end.
  std::size_t endOfItem(std::size_t at) const {
    for (bool inside = false; at < text_.size(); ++at) {
      if (text_[at] == '[') inside = true;
      if (text_[at] == ']') inside = false;
      if (text_[at] == ',' && !inside) break;
    }
    return at;
  }

  std::vector<std::string> item(std::string_view text) const {
    if (text.empty()) refuse();
    std::vector<std::string> names = {""};
    while (!text.empty()) {
      const std::size_t open = std::min(text.find('['), text.size());
      const std::string_view plain = text.substr(0, open);
      if (plain.find_first_of(kSpecial) != std::string_view::npos) refuse();
      for (std::string& name : names) name += plain;
      if (open == text.size()) break;
      const std::size_t close = text.find(']', open);
      if (close == std::string_view::npos) refuse();
      names = product(names, numbers(text.substr(open + 1, close - open - 1)));
      text.remove_prefix(close + 1);
    }
    return names;
  }

  std::vector<std::string> product(const std::vector<std::string>& names,
                                   const std::vector<std::string>& ends) const {
    limit(names.size() * ends.size());
    std::vector<std::string> all;
    all.reserve(names.size() * ends.size());
    for (const std::string& name : names)
      for (const std::string& end : ends) all.push_back(name + end);
    return all;
  }

  int number(std::string_view digits) const {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || digits.size() > kMaxDigits || error != std::errc() ||
        end != digits.data() + digits.size() || value < 0)
      refuse();
    return value;
  }

  // Expands "08-10,20". Numbers of a range get as many digits as its first one has: 08 09 10.
  std::vector<std::string> numbers(std::string_view text) const {
    std::vector<std::string> all;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view range = text.substr(begin, end - begin);
      const std::size_t dash = std::min(range.find('-'), range.size());
      const int first = number(range.substr(0, dash));
      const int last = dash == range.size() ? first : number(range.substr(dash + 1));
      if (last < first) refuse();
      limit(all.size() + static_cast<std::size_t>(last - first) + 1);
      for (int i = first; i <= last; ++i) all.push_back(fmt::format("{:0{}}", i, dash));
      begin = end + 1;
    }
    return all;
  }

  std::string_view text_;
  const SourceLocation& where_;
};

}  // namespace

std::vector<std::string> expandNames(std::string_view text, const SourceLocation& where) {
  return NameList(text, where).expand();
}

bool isPlainName(std::string_view name) {
  return !name.empty() && name.find_first_of(kSpecial) == std::string_view::npos;
}

}  // namespace xylem::fabric
