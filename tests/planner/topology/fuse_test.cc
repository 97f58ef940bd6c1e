#include "planner/topology/fuse.h"

#include <gmock/gmock.h>

#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"
#include "planner_support/rules.h"

namespace xylem::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

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
  trimToKept(document, *testing::rules225());
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
  trimToKept(document, *testing::rules225());
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
  trimToKept(document, *testing::rules225());
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
  trimToKept(none, *testing::rules225());
  EXPECT_TRUE(none[none.root()].children.empty());
}

// Two switches with two GPUs each, listed from the higher dev down; a card on the first switch only.
constexpr const char* kHost = R"(<system version="1">
  <cpu numaid="0" arch="arm64">
    <pci busid="0000:10:00.0" class="0x060400">
      <pci busid="0000:11:00.0">
        <gpu dev="3" sm="80"><nvlink target="0000:21:00.0" count="4"/></gpu>
      </pci>
      <pci busid="0000:12:00.0"><gpu dev="2" sm="80"/></pci>
      <pci busid="0000:13:00.0"><nic><net name="mlx5_0" dev="0"/><net name="off"/></nic></pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="arm64">
    <pci busid="0000:20:00.0" class="0x060400">
      <pci busid="0000:21:00.0"><gpu dev="1" sm="80"/></pci>
      <pci busid="0000:22:00.0"><gpu dev="0" sm="80"/></pci>
    </pci>
  </cpu>
</system>
)";

Document host(const std::string& text = kHost) { return parseTopology(text, "host.xml"); }

// "dev:rank" of the GPUs in document order.
std::vector<std::string> gpusOf(const Document& document) {
  const System system = buildSystem(completeForJob(document, *testing::rules225()), testing::rules225());
  std::vector<std::string> gpus;
  for (const NodeId gpu : system.nodes(NodeType::kGpu))
    gpus.push_back(fmt::format("{}:{}", system.gpu(gpu).dev, system.gpu(gpu).rank));
  return gpus;
}

TEST(RankDescriptions, NumbersAreDevsAndRanksFollowTheList) {
  EXPECT_THAT(gpusOf(describeAsRanksWould(host(), std::vector{1, 3}, *testing::rules225())),
              ElementsAre("3:1", "1:0"));
  EXPECT_THAT(gpusOf(describeAsRanksWould(host(), std::vector{2, 3}, *testing::rules225())),
              ElementsAre("2:0", "3:1"));
}

TEST(RankDescriptions, UnusedGpusAndWhatTheyLeaveEmptyDisappear) {
  const std::string text = writeTopology(describeAsRanksWould(host(), std::vector{3}, *testing::rules225()));
  EXPECT_EQ(text, R"(<system version="1">
  <cpu numaid="0" arch="arm64">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="" link_width="">
      <pci busid="0000:11:00.0" link_speed="" link_width="" class="0x03">
        <gpu dev="3" sm="80" gdr="1" rank="0">
          <nvlink target="0000:21:00.0" count="4" tclass="0x03"/>
        </gpu>
      </pci>
      <pci busid="0000:13:00.0" link_speed="" link_width="" class="0x02">
        <nic>
          <net name="mlx5_0" dev="0"/>
          <net name="off"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)");
}

TEST(RankDescriptions, EveryRankKeepsEveryNetworkDevice) {
  const System system =
      buildSystem(completeForJob(describeAsRanksWould(host(), std::vector{0}, *testing::rules225()),
                                 *testing::rules225()),
                  testing::rules225());
  EXPECT_EQ(system.count(NodeType::kNet), 1);
  EXPECT_EQ(system.count(NodeType::kCpu), 2);
  // Without cards the other CPU is not part of it.
  std::string bare = kHost;
  bare.erase(bare.find("<nic>"), bare.find("</nic>") + 6 - bare.find("<nic>"));
  EXPECT_EQ(
      buildSystem(describeAsRanksWould(host(bare), std::vector{0}, *testing::rules225()), testing::rules225())
          .count(NodeType::kCpu),
      1);
}

TEST(RankDescriptions, MarkedNetworkDevicesStandForAll) {
  std::string text = kHost;
  text.insert(text.find("name=\"off\""), "dev=\"1\" keep=\"0\" ");
  text.insert(text.find("name=\"mlx5_0\""), "keep=\"1\" ");
  const std::string described =
      writeTopology(describeAsRanksWould(host(text), std::vector{0}, *testing::rules225()));
  EXPECT_THAT(described, HasSubstr("mlx5_0"));
  EXPECT_EQ(described.find("keep"), std::string::npos);
}

TEST(RankDescriptions, WithoutAListAllGpusInRankOrder) {
  EXPECT_THAT(gpusOf(describeAsRanksWould(host(), *testing::rules225())),
              ElementsAre("3:0", "2:1", "1:2", "0:3"));
  std::string ranked = kHost;
  for (const char* dev : {"3", "2", "1", "0"})
    ranked.insert(ranked.find(fmt::format("dev=\"{}\" sm", dev)), fmt::format("rank=\"{}\" ", dev));
  EXPECT_THAT(gpusOf(describeAsRanksWould(host(ranked), *testing::rules225())),
              ElementsAre("2:2", "3:3", "0:0", "1:1"));
}

TEST(RankDescriptions, SaysWhatIsWrongWithAList) {
  const auto refuses = [](std::vector<int> gpus, const char* message) {
    EXPECT_THAT([&] { describeAsRanksWould(host(), gpus, *testing::rules225()); },
                ThrowsMessage<InputError>(HasSubstr(message)));
  };
  refuses({4}, "host.xml: found GPU 4 in the list of GPUs to use; expected one of 0, 1, 2, 3");
  refuses({1, 1}, "GPU 1 twice");
  refuses({}, "empty list");
}

TEST(RankDescriptions, RefusesNumbersThatAreNotUnique) {
  std::string text = kHost;
  text.replace(text.find("dev=\"2\""), 7, "dev=\"3\"");
  EXPECT_THAT([&] { describeAsRanksWould(host(text), std::vector{3}, *testing::rules225()); },
              ThrowsMessage<InputError>(HasSubstr("a second gpu with dev=\"3\"")));
  std::string ranked = kHost;
  ranked.insert(ranked.find("dev=\"3\""), "rank=\"5\" ");
  EXPECT_THAT([&] { describeAsRanksWould(host(ranked), *testing::rules225()); },
              ThrowsMessage<InputError>(HasSubstr("a gpu with rank=\"5\"")));
}

}  // namespace
}  // namespace xylem::topology
