#include "planner/topology/xml_scan.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace xylem {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kExcerptLength = 40;

bool endsName(char c) { return std::string_view(" \t\r\n<>/=\"'").find(c) != std::string_view::npos; }

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The start of `text`, fit for a terminal: binary input must not reach it.
std::string excerpt(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kExcerptLength)) {
    if (c == '\n' || c == '\r') break;
    shown += c >= ' ' && c <= '~' ? c : '?';
  }
  return "`" + shown + "`";
}

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file, const XmlLimits& limits)
      : text_(text), file_(file), limits_(limits) {}

  void run() {
    if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
    if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos) {
      line_ +=
          static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(nul), '\n'));
      fail("a NUL byte", "text: this is not an XML file");
    }
    while (skipBlanks(), !atEnd()) {
      if (text_[position_] != '<')
        fail("text outside of tags: " + excerpt(rest()), "`<`: in this format all data is in attributes");
      scanMarkup();
    }
    if (elements_ == 0) fail("no element", "an XML document: the file is empty");
    if (depth_ > 0)
      fail(fmt::format("the end of the file with {} elements open", depth_), "their closing tags");
  }

 private:
  bool atEnd() const { return position_ >= text_.size(); }
  std::string_view rest() const { return text_.substr(position_); }

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError({file_, line_}, found, expected);
  }

  void advance() {
    if (text_[position_] == '\n') ++line_;
    ++position_;
  }

  void skipBlanks() {
    while (!atEnd() && isBlank(text_[position_])) advance();
  }

  void scanMarkup() {
    if (rest().starts_with("<!--")) {
      countNode();
      skipPast(4, "-->", "a comment that does not end");
    } else if (rest().starts_with("<?")) {
      if (elements_ > 0) fail(excerpt(rest()), "an element: declarations stand at the start");
      countNode();
      skipPast(2, "?>", "a declaration that does not end");
    } else if (rest().starts_with("<!")) {
      fail(excerpt(rest()), "an element: neither DOCTYPE nor CDATA nor entities are part of this format");
    } else {
      scanTag();
    }
  }

  // From the current position, where an opening of that length stands.
  void skipPast(std::size_t opening, std::string_view end, const char* unfinished) {
    const std::size_t found = text_.find(end, position_ + opening);
    if (found == std::string_view::npos) fail(unfinished, fmt::format("`{}`: the file ends first", end));
    while (position_ < found + end.size()) advance();
  }

  // Comments and declarations cost as much memory as elements.
  void countNode() {
    if (++nodes_ > limits_.elements)
      fail(fmt::format("more than {} elements and comments", limits_.elements),
           "at most that many in one file");
  }

  void scanTag() {
    if (rest().starts_with("</")) return scanClosingTag();
    const int startLine = line_;
    if (depth_ == limits_.depth)
      fail(fmt::format("elements nested deeper than {}", limits_.depth),
           "no more: no machine nests that deep");
    countNode();
    ++elements_;
    ++position_;
    attributeNames_.clear();
    const std::string_view name = scanName();
    if (name.empty()) fail(excerpt(rest()) + " after `<`", "the name of an element");
    checkLength(name, limits_.nameLength, "an element name");
    bool single = false;
    for (skipBlanks(); !rest().starts_with('>'); skipBlanks()) {
      if (atEnd())
        throw InputError({file_, startLine}, "a tag that does not end", "`>`: the file ends first");
      single = text_[position_] == '/';
      if (single)
        ++position_;
      else
        scanAttribute();
    }
    ++position_;
    if (!single) ++depth_;
  }

  void scanClosingTag() {
    if (depth_ == 0) fail("the closing tag " + excerpt(rest()), "the element that it closes");
    position_ += 2;
    checkLength(scanName(), limits_.nameLength, "an element name");
    skipBlanks();
    if (!rest().starts_with('>'))
      fail(atEnd() ? "the end of the file" : excerpt(rest()), "`>` after a closing tag");
    ++position_;
    --depth_;
  }

  std::string_view scanName() {
    const std::size_t start = position_;
    while (!atEnd() && !endsName(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }

  void scanAttribute() {
    const std::string_view name = scanName();
    if (name.empty()) fail(excerpt(rest()), "an attribute `name=\"value\"`, or the end of the tag");
    checkLength(name, limits_.nameLength, "an attribute name");
    skipBlanks();
    if (!rest().starts_with('=')) fail("the word " + excerpt(name), "an attribute `name=\"value\"`");
    ++position_;
    skipBlanks();
    if (!rest().starts_with('"'))
      fail(fmt::format("the attribute {} without a value in double quotes", excerpt(name)),
           "an attribute `name=\"value\"`");
    ++position_;
    const std::size_t end = text_.find('"', position_);
    if (end == std::string_view::npos) fail("a value that does not end", "`\"`: the file ends first");
    checkLength(text_.substr(position_, end - position_), limits_.valueLength, "a value");
    while (position_ <= end) advance();
    noteAttribute(name);
  }

  void noteAttribute(std::string_view name) {
    if (std::find(attributeNames_.begin(), attributeNames_.end(), name) != attributeNames_.end())
      fail(fmt::format("the attribute {} twice in one element", excerpt(name)), "each attribute once");
    attributeNames_.push_back(name);
    if (attributeNames_.size() > limits_.attributesPerElement)
      fail(fmt::format("more than {} attributes in one element", limits_.attributesPerElement),
           "at most that many");
    if (++attributes_ > limits_.attributes)
      fail(fmt::format("more than {} attributes", limits_.attributes), "at most that many in one file");
  }

  void checkLength(std::string_view text, std::size_t limit, const char* what) const {
    if (text.size() > limit)
      fail(fmt::format("{} of {} characters: {}", what, text.size(), excerpt(text)),
           fmt::format("at most {}", limit));
  }

  std::string_view text_;
  const std::string& file_;
  const XmlLimits& limits_;
  std::size_t position_ = 0;
  int line_ = 1;
  std::size_t depth_ = 0;
  std::size_t nodes_ = 0;  // elements and comments
  std::size_t elements_ = 0;
  std::size_t attributes_ = 0;
  std::vector<std::string_view> attributeNames_;  // of the tag being scanned
};

}  // namespace

void scanXml(std::string_view text, const std::string& file, const XmlLimits& limits) {
  Scanner(text, file, limits).run();
}

}  // namespace xylem
