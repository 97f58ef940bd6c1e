#include "planner/topology/xml_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "planner/topology/xml_scan.h"

namespace xylem {
namespace {

void checkSize(std::size_t bytes, const std::string& file, const XmlLimits& limits) {
  if (bytes > limits.bytes)
    throw InputError({file, 0}, fmt::format("more than {} MiB", limits.bytes >> 20),
                     "a file of at most that size");
}

// What scanXml has not refused already; tinyxml2's numbers say little to a person.
// The library ends what it says with the element's name.
std::string nameOfError(const tinyxml2::XMLDocument& xml) {
  const std::string text = xml.ErrorStr();
  constexpr std::string_view kBefore = "name=";
  const std::size_t at = text.rfind(kBefore);
  return at == std::string::npos ? "" : text.substr(at + kBefore.size());
}

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

}  // namespace

std::string readXmlFile(const std::string& path, const std::string& what, const XmlLimits& limits) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw InputError({path, 0}, fmt::format("nothing to read ({})", errnoText(errno)), what);
  std::string text;
  constexpr std::size_t kChunk = 1u << 16;
  while (true) {
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    const ssize_t count = read(file.get(), text.data() + size, kChunk);
    const int error = errno;
    text.resize(size + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count < 0 && error == EINTR) continue;
    if (count < 0)
      throw InputError({path, 0},
                       error == EISDIR ? "a directory" : "a file that cannot be read: " + errnoText(error),
                       what);
    checkSize(text.size(), path, limits);
    if (count == 0) return text;
  }
}

void parseXml(tinyxml2::XMLDocument& xml, std::string_view text, const std::string& file,
              const XmlLimits& limits) {
  checkSize(text.size(), file, limits);
  scanXml(text, file, limits);
  if (xml.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) throw syntaxError(xml, file);
}

}  // namespace xylem
