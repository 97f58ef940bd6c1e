// Compares trim and fusion with the descriptions that NCCL 2.25.1 itself fused:
// $XYLEM_TEST_GOLDEN/fused/NAME.xml is made of $XYLEM_TEST_GOLDEN/own/NAME.xml (CONTRIBUTING.md says what the
// goldens are).

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "topology/fuse.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

void collect(const Document& document, ElementId id, std::string_view name, std::vector<ElementId>& found) {
  if (document[id].name == name) found.push_back(id);
  for (const ElementId child : document[id].children) collect(document, child, name, found);
}

std::vector<ElementId> all(const Document& document, std::string_view name) {
  std::vector<ElementId> found;
  collect(document, document.root(), name, found);
  return found;
}

// Ranks where the file has none: document order.
void numberGpus(Document& document) {
  const std::vector<ElementId> gpus = all(document, "gpu");
  for (const ElementId gpu : gpus)
    if (document.attribute(gpu, "rank") != nullptr) return;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank)
    document.set(gpus[rank], "rank", std::to_string(rank));
}

// The GPUs that are ranks, in rank order.
std::vector<ElementId> ranks(const Document& document) {
  std::vector<ElementId> gpus = all(document, "gpu");
  std::erase_if(gpus, [&](ElementId gpu) { return document.attribute(gpu, "rank") == nullptr; });
  std::sort(gpus.begin(), gpus.end(), [&](ElementId a, ElementId b) {
    return std::stoi(*document.attribute(a, "rank")) < std::stoi(*document.attribute(b, "rank"));
  });
  return gpus;
}

Document fusedByRank(Document machine) {
  numberGpus(machine);
  std::vector<Document> detected;
  for (const ElementId gpu : ranks(machine)) {
    Document own = machine;
    own.set(gpu, "keep", "1");
    for (const ElementId net : all(own, "net"))
      if (own.attribute(net, "dev") != nullptr) own.set(net, "keep", "1");
    trimToKept(own);
    detected.push_back(std::move(own));
  }
  return fuse(detected);
}

TEST(FuseGolden, GivesWhatNcclFused) {
  const char* golden = std::getenv("XYLEM_TEST_GOLDEN");
  if (golden == nullptr) GTEST_SKIP() << "XYLEM_TEST_GOLDEN does not name the directory of goldens";
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(golden) / "fused")) {
    if (entry.path().extension() != ".xml") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Document machine = readTopology(fs::path(golden) / "own" / entry.path().filename());
    EXPECT_EQ(writeTopology(fusedByRank(machine)), writeTopology(readTopology(entry.path())));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace xylem
