#include "planner/topology/fuse.h"

#include <gmock/gmock.h>

namespace xylem {
namespace {

constexpr const char* kTwoGpus = R"(<system version="1">
  <cpu numaid="0">
    <pci busid="0000:10:00.0">
      <pci busid="0000:11:00.0">
        <gpu dev="0" rank="0">
          <nvlink target="0000:12:00.0" count="1"/>
        </gpu>
      </pci>
      <pci busid="0000:12:00.0">
        <gpu dev="1" rank="1"/>
      </pci>
      <pci busid="0000:13:00.0">
        <nic>
          <net name="a" dev="0"/>
          <net name="b" dev="1" keep="0"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1">
    <pci busid="0000:20:00.0"/>
  </cpu>
</system>
)";

ElementId find(const Document& document, ElementId from, std::string_view name, std::string_view key,
               std::string_view value) {
  const std::string* found = document.attribute(from, key);
  if (document[from].name == name && found != nullptr && *found == value) return from;
  for (const ElementId child : document[from].children)
    if (const ElementId id = find(document, child, name, key, value); id != kNoElement) return id;
  return kNoElement;
}

Document detectedBy(const char* text, const char* rank) {
  Document document = parseTopology(text, "host.xml");
  document.set(find(document, document.root(), "gpu", "rank", rank), "keep", "1");
  if (const ElementId net = find(document, document.root(), "net", "name", "a"); net != kNoElement)
    document.set(net, "keep", "1");
  trimToKept(document);
  return document;
}

TEST(Trim, KeepsTheOwnGpuTheNicsAndWhatHoldsThem) {
  EXPECT_EQ(writeTopology(detectedBy(kTwoGpus, "1")), R"(<system version="1">
  <cpu numaid="0">
    <pci busid="0000:10:00.0">
      <pci busid="0000:12:00.0">
        <gpu dev="1" rank="1"/>
      </pci>
      <pci busid="0000:13:00.0">
        <nic>
          <net name="a" dev="0"/>
          <net name="b" dev="1" keep="0"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)");
}

TEST(Trim, LeavesTheChildrenOfAKeptElementAlone) {
  Document document = parseTopology(
      R"(<system version="1"><cpu numaid="0" keep="1"><pci busid="1"><gpu keep="1"/></pci></cpu></system>)",
      "x");
  trimToKept(document);
  EXPECT_EQ(writeTopology(document), R"(<system version="1">
  <cpu numaid="0">
    <pci busid="1">
      <gpu keep="1"/>
    </pci>
  </cpu>
</system>
)");
}

TEST(Trim, EmptiesADocumentWithoutMarks) {
  Document document = parseTopology(kTwoGpus, "x");
  trimToKept(document);
  EXPECT_EQ(writeTopology(document), "<system version=\"1\"/>\n");
}

TEST(Fuse, AppendsWhatLaterRanksAddInTheOrderOfTheirFirstAppearance) {
  EXPECT_EQ(writeTopology(fuse({detectedBy(kTwoGpus, "1"), detectedBy(kTwoGpus, "0")})),
            R"(<system version="1">
  <cpu numaid="0">
    <pci busid="0000:10:00.0">
      <pci busid="0000:12:00.0">
        <gpu dev="1" rank="1"/>
      </pci>
      <pci busid="0000:13:00.0">
        <nic>
          <net name="a" dev="0"/>
          <net name="b" dev="1" keep="0"/>
        </nic>
      </pci>
      <pci busid="0000:11:00.0">
        <gpu dev="0" rank="0">
          <nvlink target="0000:12:00.0" count="1"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
</system>
)");
}

std::string fused(const std::string& first, const std::string& second) {
  const auto parse = [](const std::string& inside) {
    return parseTopology("<system version=\"1\">" + inside + "</system>", "x");
  };
  const Document document = fuse({parse(first), parse(second)});
  std::string text;
  for (const ElementId cpu : document[document.root()].children) {
    text += "cpu";
    for (const auto& [key, value] : document[cpu].attributes) text += " " + key + "=" + value;
    text += fmt::format("[{}]", document[cpu].children.size());
  }
  return text;
}

TEST(Fuse, MergesWhateverTheOrderOfAttributes) {
  EXPECT_EQ(fused(R"(<cpu numaid="0" arch="x"/>)", R"(<cpu arch="x" numaid="0"/>)"),
            "cpu numaid=0 arch=x[0]");
}

TEST(Fuse, DoesNotMergeDifferentValues) {
  EXPECT_EQ(fused(R"(<cpu numaid="0"/>)", R"(<cpu numaid="00"/>)"), "cpu numaid=0[0]cpu numaid=00[0]");
}

TEST(Fuse, DoesNotMergeDifferentNumbersOfAttributes) {
  EXPECT_EQ(fused(R"(<cpu numaid="0"/>)", R"(<cpu numaid="0" host_hash="0x1"/>)"),
            "cpu numaid=0[0]cpu numaid=0 host_hash=0x1[0]");
}

TEST(Fuse, DoesNotMergeALeafWithAParent) {
  EXPECT_EQ(fused(R"(<cpu numaid="0"/>)", R"(<cpu numaid="0"><nic/></cpu>)"),
            "cpu numaid=0[0]cpu numaid=0[1]");
}

TEST(Fuse, CopiesTheFirstWholeAndMergesTwinsOfTheSecond) {
  EXPECT_EQ(fused(R"(<cpu numaid="0"/><cpu numaid="0"/>)", R"(<cpu numaid="0"/>)"),
            "cpu numaid=0[0]cpu numaid=0[0]");
  EXPECT_EQ(fused(R"(<cpu numaid="1"/>)", R"(<cpu numaid="0"/><cpu numaid="0"/>)"),
            "cpu numaid=1[0]cpu numaid=0[0]");
}

TEST(Fuse, OfNothingIsAnEmptySystem) { EXPECT_EQ(writeTopology(fuse({})), "<system version=\"1\"/>\n"); }

TEST(Fuse, IsFastForWideMachines) {  // quadratic work would take minutes
  std::string inside;
  for (int i = 0; i < 50'000; ++i) inside += fmt::format("<cpu numaid=\"{}\"/>", i);
  const Document wide = parseTopology("<system version=\"1\">" + inside + "</system>", "wide.xml");
  EXPECT_EQ(fuse({wide, wide, wide}).size(), 50'001u);
  Document none = wide;
  trimToKept(none);
  EXPECT_TRUE(none[none.root()].children.empty());
}

}  // namespace
}  // namespace xylem
