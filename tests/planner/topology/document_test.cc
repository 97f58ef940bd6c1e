#include "planner/topology/document.h"

#include <gmock/gmock.h>

namespace xylem::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kMachine = R"(<system version="1" name="small">
  <cpu numaid="0" affinity="ff" arch="x86_64">
    <pci busid="0000:10:00.0" class="0x060400">
      <pcilink target="0000:20:00.0"/>
      <pci busid="0000:11:00.0">
        <gpu dev="0" sm="90" rank="0">
          <nvlink target="0000:12:00.0" count="4"/>
          <c2c bw="100000" count="1"/>
        </gpu>
      </pci>
    </pci>
    <nic>
      <net name="eth0" dev="0" speed="10000"/>
    </nic>
  </cpu>
</system>
)";

TEST(Document, StartsAsAnEmptySystem) {
  const Document document;
  EXPECT_EQ(document.file(), "(detected)");
  EXPECT_EQ(writeTopology(document), "<system version=\"1\"/>\n");
}

TEST(Document, FindsChildrenAndAttributes) {
  const Document document = parseTopology(kMachine, "small.xml");
  const ElementId cpu = document.child(document.root(), "cpu");
  ASSERT_NE(cpu, kNoElement);
  EXPECT_EQ(*document.attribute(cpu, "numaid"), "0");
  EXPECT_EQ(document.attribute(cpu, "vendor"), nullptr);
  const ElementId pci = document.child(cpu, "pci", "busid", "0000:10:00.0");
  ASSERT_NE(pci, kNoElement);
  EXPECT_EQ(document.child(cpu, "pci", "busid", "0000:99:00.0"), kNoElement);
  EXPECT_EQ(document.child(cpu, "gpu"), kNoElement);
  EXPECT_EQ(document[pci].parent, cpu);
}

TEST(Document, AddsAtAPosition) {
  Document document;
  document.set(document.add(document.root(), "cpu"), "numaid", "1");
  document.set(document.add(document.root(), "cpu", 0, 0), "numaid", "0");
  document.set(document.add(document.root(), "cpu", 0, 99), "numaid", "2");
  std::vector<std::string> ids;
  for (const ElementId cpu : document[document.root()].children)
    ids.push_back(*document.attribute(cpu, "numaid"));
  EXPECT_THAT(ids, ElementsAre("0", "1", "2"));
}

TEST(Document, SetReplacesInPlaceAndRemoveForgets) {
  Document document;
  const ElementId cpu = document.add(document.root(), "cpu");
  document.set(cpu, "numaid", "0");
  document.set(cpu, "arch", "arm64");
  document.set(cpu, "numaid", "7");
  EXPECT_EQ(writeTopology(document),
            "<system version=\"1\">\n  <cpu numaid=\"7\" arch=\"arm64\"/>\n</system>\n");
  document.removeAttribute(cpu, "numaid");
  document.removeAttribute(cpu, "numaid");
  EXPECT_EQ(document.attribute(cpu, "numaid"), nullptr);
}

TEST(Document, DetachTakesASubtreeOut) {
  Document document = parseTopology(kMachine, "small.xml");
  const ElementId cpu = document.child(document.root(), "cpu");
  document.detach(document.child(cpu, "pci"));
  document.detach(document.root());  // has no parent: nothing to do
  EXPECT_EQ(document[cpu].children.size(), 1u);
  document.detachChildren(cpu, document[cpu].children);
  EXPECT_THAT(document[cpu].children, IsEmpty());
}

TEST(Document, CopiesAreIndependent) {
  const Document original = parseTopology(kMachine, "small.xml");
  Document copy = original;
  copy.detach(copy.child(copy.root(), "cpu"));
  EXPECT_EQ(writeTopology(original), kMachine);
}

TEST(DocumentWrite, GivesBackWhatWasRead) {
  EXPECT_EQ(writeTopology(parseTopology(kMachine, "m")), kMachine);
}

TEST(DocumentWrite, NeverBreaksItsOwnSyntax) {
  Document document;
  document.set(document.root(), "name", "24\" rack");
  EXPECT_NO_THROW(parseTopology(writeTopology(document), "rack.xml"));
}

TEST(DocumentRead, KnowsLinesWithBothLineEndings) {
  for (const char* newline : {"\n", "\r\n"}) {
    const std::string text = std::string("<!-- a\ncomment -->") + newline + "<system version=\"1\">" +
                             newline + newline + "  <cpu" + newline + "   numaid=\"0\"/>" + newline +
                             "</system>";
    const Document document = parseTopology(text, "x.xml");
    EXPECT_EQ(document[document.root()].line, 3);
    EXPECT_EQ(toString(document.location(document.child(document.root(), "cpu"))), "x.xml:5");
  }
}

TEST(DocumentRead, TakesTabsCommentsADeclarationAndAByteOrderMark) {
  const Document document = parseTopology(
      "\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<system version=\"0x1\">\t<!-- <cpu> -->\n\t<cpu\tnumaid = \"0\" "
      "></cpu>"
      "</system>\n<!-- end -->\n",
      "x");
  EXPECT_EQ(writeTopology(document), "<system version=\"0x1\">\n  <cpu numaid=\"0\"/>\n</system>\n");
}

TEST(DocumentRead, DoesNotDecodeEntities) {
  const Document document = parseTopology(R"(<system version="1" name="a&amp;b&#x41;&unknown;"/>)", "x");
  EXPECT_EQ(*document.attribute(document.root(), "name"), "a&amp;b&#x41;&unknown;");
}

TEST(DocumentRead, LeavesOutUnknownElementsAndNestingsAndSaysSo) {
  std::vector<std::string> ignored;
  const Document document = parseTopology(R"(<system version="1">
  <disk><cpu numaid="5"/></disk>
  <cpu numaid="0">
    <gpu dev="0"/>
    <pci busid="1">
      <nic><net name="a"><net name="b"/></net></nic>
    </pci>
  </cpu>
  <pci busid="2"/>
</system>)",
                                          "odd.xml", &ignored);
  EXPECT_THAT(ignored, ElementsAre("Ignoring element disk (odd.xml:2)", "Ignoring element gpu (odd.xml:4)",
                                   "Ignoring element net (odd.xml:6)", "Ignoring element pci (odd.xml:9)"));
  EXPECT_EQ(document.size(), 5u);
}

TEST(DocumentRead, KeepsSixteenAttributesAsNcclDoes) {
  std::string text = "<system version=\"1\"><cpu";
  for (int i = 0; i < 18; ++i) text += fmt::format(" a{}=\"{}\"", i, i);
  std::vector<std::string> ignored;
  const Document document = parseTopology(text + "/></system>", "x.xml", &ignored);
  EXPECT_EQ(document[document.child(document.root(), "cpu")].attributes.size(), 16u);
  EXPECT_THAT(ignored, ElementsAre("Ignoring attribute a16 (x.xml:1)", "Ignoring attribute a17 (x.xml:1)"));
}

}  // namespace
}  // namespace xylem::topology
