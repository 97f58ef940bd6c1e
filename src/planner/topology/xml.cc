#include "planner/topology/xml.h"

#include <tinyxml2.h>

#include <algorithm>
#include <cstdlib>

#include "core/text_file.h"

namespace xylem::topology {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kExcerptLength = 40;
// NCCL keeps this many attributes of an element and ignores the rest.
constexpr std::size_t kMaxAttributesKept = 16;
// parseAnyXml parses no refused text that is longer.
constexpr std::size_t kMaxRefusedBytes = 1u << 17;

using tinyxml2::XMLElement;

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

// The check that runs over a text before tinyxml2 parses it. It is a scanner, not a parser: it finds where
// tags, values and comments begin and end, counts them, and leaves names and nesting to tinyxml2. It refuses
// every text in which the two could disagree on a boundary, so the counts hold for what tinyxml2 allocates.
class XmlScanner {
 public:
  XmlScanner(std::string_view text, const std::string& file, const XmlLimits& limits)
      : text_(text), file_(file), limits_(limits) {}

  // Throws InputError if the text breaks a limit or does not belong to NCCL's dialect.
  void run() {
    if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
    if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos) {
      line_ +=
          static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(nul), '\n'));
      fail("a NUL byte", "text: this is not an XML file");
    }
    while (skipBlanks(), !atEnd()) {
      if (text_[position_] != '<')
        fail("text outside of tags: " + excerpt(rest()),
             "nothing between tags: in this format all data is in attributes");
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

  // Skips an opening of that length at the current position and everything up to the end of `end`.
  void skipPast(std::size_t opening, std::string_view end, const char* unfinished) {
    const std::size_t found = text_.find(end, position_ + opening);
    if (found == std::string_view::npos) fail(unfinished, fmt::format("`{}`: the file ends first", end));
    while (position_ < found + end.size()) advance();
  }

  // Comments and declarations count, as they cost as much memory as elements.
  void countNode() {
    if (++nodes_ > limits_.elements)
      fail(fmt::format("more than {} elements and comments", limits_.elements),
           "at most that many in one file");
  }

  // An opening or empty tag. Only the depth counts here: tinyxml2 compares the names of closing tags.
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
    if (!rest().starts_with('"') && !rest().starts_with('\''))
      fail(fmt::format("the attribute {} without a value in quotes", excerpt(name)),
           "an attribute `name=\"value\"`");
    const char quote = rest().front();
    ++position_;
    const std::size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos)
      fail("a value that does not end", fmt::format("`{}`: the file ends first", quote));
    checkLength(text_.substr(position_, end - position_), limits_.valueLength, "a value");
    while (position_ <= end) advance();
    noteAttribute(name);
  }

  // Counts an attribute, and refuses a second one of the same name.
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

// The element's name, with which tinyxml2 ends its message; empty if the message has none.
std::string nameOfError(const tinyxml2::XMLDocument& xml) {
  const std::string text = xml.ErrorStr();
  constexpr std::string_view kBefore = "name=";
  const std::size_t at = text.rfind(kBefore);
  return at == std::string::npos ? "" : text.substr(at + kBefore.size());
}

// An error that the scan leaves to tinyxml2, in words instead of tinyxml2's numbers.
InputError syntaxError(const tinyxml2::XMLDocument& xml, const std::string& file) {
  const SourceLocation where{file, xml.ErrorLineNum()};
  switch (xml.ErrorID()) {
    case tinyxml2::XML_ERROR_MISMATCHED_ELEMENT:
      return {where, fmt::format("an element `{}` without its own closing tag", nameOfError(xml)),
              "`</name>` of the element opened last"};
    case tinyxml2::XML_ERROR_PARSING_ELEMENT:
      return {where, "a tag that is malformed", "`<name attribute=\"value\">`"};
    case tinyxml2::XML_ERROR_PARSING_ATTRIBUTE:
      return {where, "an attribute that is malformed", "`name=\"value\"`"};
    case tinyxml2::XML_ERROR_PARSING_DECLARATION:
      return {where, "an XML declaration",
              "no declaration here: it stands at the start of the file or not at all"};
    default:
      return {where, fmt::format("text that is not XML ({})", xml.ErrorName()), "elements with attributes"};
  }
}

void parseText(tinyxml2::XMLDocument& xml, std::string_view text, const std::string& file,
               const XmlLimits& limits) {
  requireSize(text.size(), file, limits.bytes);
  XmlScanner(text, file, limits).run();
  if (xml.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) throw syntaxError(xml, file);
}

// Copies tinyxml2's tree into a Document: all of it, or the part that a vocabulary knows.
class TreeCopy {
 public:
  // Everything if `vocabulary` is null.
  TreeCopy(Document& document, const XmlVocabulary* vocabulary, std::vector<std::string>* ignored)
      : document_(document), vocabulary_(vocabulary), ignored_(ignored) {}

  // Recursion is as deep as the elements nest: XmlLimits::depth, or tinyxml2's own limit for refused text.
  void copy(const XMLElement& from, ElementId to) {
    copyAttributes(from, to);
    for (const auto* child = from.FirstChildElement(); child != nullptr;
         child = child->NextSiblingElement()) {
      if (mayHold(from.Name(), child->Name()))
        copy(*child, document_.add(to, child->Name(), child->GetLineNum()));
      else
        ignore("element", child->Name(), child->GetLineNum());
    }
  }

 private:
  void copyAttributes(const XMLElement& from, ElementId to) {
    std::size_t kept = 0;
    for (const auto* attribute = from.FirstAttribute(); attribute != nullptr; attribute = attribute->Next()) {
      if (vocabulary_ != nullptr && ++kept > kMaxAttributesKept)
        ignore("attribute", attribute->Name(), attribute->GetLineNum());
      else
        document_.set(to, attribute->Name(), attribute->Value());
    }
  }

  bool mayHold(std::string_view parent, std::string_view child) const {
    if (vocabulary_ == nullptr) return true;
    const auto& nestings = vocabulary_->nestings;
    return std::any_of(nestings.begin(), nestings.end(), [&](const XmlNesting& nesting) {
      return nesting.parent == parent && nesting.child == child;
    });
  }

  void ignore(const char* what, const char* name, int line) {
    if (ignored_ == nullptr) return;
    ignored_->push_back(fmt::format("Ignoring {} {} ({})", what, name, toString({document_.file(), line})));
  }

  Document& document_;
  const XmlVocabulary* vocabulary_;
  std::vector<std::string>* ignored_;
};

Document copyTree(const XMLElement& root, const std::string& file, const XmlVocabulary* vocabulary,
                  std::vector<std::string>* ignored) {
  Document document(file, root.GetLineNum(), root.Name());
  document.removeAttribute(document.root(), "version");  // comes back with the copy, at its place in the file
  TreeCopy(document, vocabulary, ignored).copy(root, document.root());
  return document;
}

// The root element, with the right name and version and without a second root.
const XMLElement& checkedRoot(const tinyxml2::XMLDocument& xml, const std::string& file,
                              const XmlVocabulary& vocabulary) {
  const XMLElement* root = xml.FirstChildElement();
  if (root == nullptr)
    throw InputError({file, 0}, "no element", fmt::format("the element {}", vocabulary.root));
  const SourceLocation where{file, root->GetLineNum()};
  if (std::string_view(root->Name()) != vocabulary.root)
    throw InputError(where, fmt::format("the element {} as the root", root->Name()),
                     fmt::format("`<{} version=\"1\">`: {}", vocabulary.root, vocabulary.what));
  if (const XMLElement* second = root->NextSiblingElement())
    throw InputError({file, second->GetLineNum()}, fmt::format("a second root element {}", second->Name()),
                     "one root element");
  const char* version = root->Attribute("version");
  if (version == nullptr)
    throw InputError(where, fmt::format("{} without `version`", vocabulary.root), "version=\"1\"");
  if (std::strtol(version, nullptr, 0) != 1)
    throw InputError(where, fmt::format("version=\"{}\"", version), "version=\"1\"");
  return *root;
}

// NCCL's format has no way to write a double quote inside a value.
std::string printable(std::string value) {
  std::replace(value.begin(), value.end(), '"', '\'');
  return value;
}

void write(const Document& document, ElementId id, std::size_t depth, std::string& out) {
  const Element& element = document[id];
  const std::string indentation(2 * depth, ' ');
  out += indentation + '<' + element.name;
  for (const auto& [key, value] : element.attributes) out += ' ' + key + "=\"" + printable(value) + '"';
  if (element.children.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const ElementId child : element.children) write(document, child, depth + 1, out);
  out += indentation + "</" + element.name + ">\n";
}

}  // namespace

Document parseXmlDocument(std::string_view text, const std::string& file, const XmlVocabulary& vocabulary,
                          std::vector<std::string>* ignored) {
  tinyxml2::XMLDocument xml(/*processEntities=*/false);
  parseText(xml, text, file, vocabulary.limits);
  return copyTree(checkedRoot(xml, file, vocabulary), file, &vocabulary, ignored);
}

AnyXml parseAnyXml(std::string_view text, const std::string& file, const XmlLimits& limits) {
  AnyXml result;
  tinyxml2::XMLDocument xml(/*processEntities=*/false);
  try {
    parseText(xml, text, file, limits);
  } catch (const InputError& error) {
    result.refusal = error;
    if (text.size() > kMaxRefusedBytes) return result;
    xml.Parse(text.data(), text.size());
  }
  if (const XMLElement* root = xml.FirstChildElement())
    result.document = copyTree(*root, file, /*vocabulary=*/nullptr, /*ignored=*/nullptr);
  return result;
}

std::string writeXmlDocument(const Document& document) {
  std::string out;
  write(document, document.root(), 0, out);
  return out;
}

}  // namespace xylem::topology
