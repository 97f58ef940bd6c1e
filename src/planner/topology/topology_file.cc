// Topology files: the vocabulary of NCCL's topology XML.
#include "planner/topology/xml_document.h"

namespace xylem {
namespace {

constexpr XmlNesting kNestings[] = {
    {"system", "cpu"}, {"cpu", "pci"},     {"cpu", "nic"}, {"pci", "pci"},    {"pci", "gpu"},
    {"pci", "nic"},    {"pci", "pcilink"}, {"nic", "net"}, {"gpu", "nvlink"}, {"gpu", "c2c"},
};

constexpr XmlVocabulary kVocabulary{
    "system",
    "a topology file",
    kNestings,
    {.bytes = kMaxTopologyBytes, .elements = kMaxElements, .attributes = kMaxAttributes}};

}  // namespace

Document parseTopology(std::string_view text, const std::string& file, std::vector<std::string>* ignored) {
  return parseXmlDocument(text, file, kVocabulary, ignored);
}

Document readTopology(const std::string& path, std::vector<std::string>* ignored) {
  return parseTopology(readXmlFile(path, "a topology XML file", kVocabulary.limits), path, ignored);
}

std::string writeTopology(const Document& document) { return writeXmlDocument(document); }

}  // namespace xylem
