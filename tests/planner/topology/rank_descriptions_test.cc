// A host as the ranks of a job would describe it: which GPUs stay, where, and under which rank.
#include "planner/topology/rank_descriptions.h"

#include <gmock/gmock.h>

#include "planner/topology/complete.h"
#include "planner/topology/system_builder.h"

namespace xylem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

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
  const System system = buildSystem(completeForJob(document));
  std::vector<std::string> gpus;
  for (const NodeId gpu : system.nodes(NodeType::kGpu))
    gpus.push_back(fmt::format("{}:{}", system.gpu(gpu).dev, system.gpu(gpu).rank));
  return gpus;
}

TEST(RankDescriptions, NumbersAreDevsAndRanksFollowTheList) {
  EXPECT_THAT(gpusOf(describeAsRanksWould(host(), std::vector{1, 3})), ElementsAre("3:1", "1:0"));
  EXPECT_THAT(gpusOf(describeAsRanksWould(host(), std::vector{2, 3})), ElementsAre("2:0", "3:1"));
}

TEST(RankDescriptions, UnusedGpusAndWhatTheyLeaveEmptyDisappear) {
  const std::string text = writeTopology(describeAsRanksWould(host(), std::vector{3}));
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
  const System system = buildSystem(completeForJob(describeAsRanksWould(host(), std::vector{0})));
  EXPECT_EQ(system.count(NodeType::kNet), 1);
  EXPECT_EQ(system.count(NodeType::kCpu), 2);
  // Without cards the other CPU is not part of it.
  std::string bare = kHost;
  bare.erase(bare.find("<nic>"), bare.find("</nic>") + 6 - bare.find("<nic>"));
  EXPECT_EQ(buildSystem(describeAsRanksWould(host(bare), std::vector{0})).count(NodeType::kCpu), 1);
}

TEST(RankDescriptions, MarkedNetworkDevicesStandForAll) {
  std::string text = kHost;
  text.insert(text.find("name=\"off\""), "dev=\"1\" keep=\"0\" ");
  text.insert(text.find("name=\"mlx5_0\""), "keep=\"1\" ");
  const std::string described = writeTopology(describeAsRanksWould(host(text), std::vector{0}));
  EXPECT_THAT(described, HasSubstr("mlx5_0"));
  EXPECT_EQ(described.find("keep"), std::string::npos);
}

TEST(RankDescriptions, WithoutAListAllGpusInRankOrder) {
  EXPECT_THAT(gpusOf(describeAsRanksWould(host())), ElementsAre("3:0", "2:1", "1:2", "0:3"));
  std::string ranked = kHost;
  for (const char* dev : {"3", "2", "1", "0"})
    ranked.insert(ranked.find(fmt::format("dev=\"{}\" sm", dev)), fmt::format("rank=\"{}\" ", dev));
  EXPECT_THAT(gpusOf(describeAsRanksWould(host(ranked))), ElementsAre("2:2", "3:3", "0:0", "1:1"));
}

TEST(RankDescriptions, SaysWhatIsWrongWithAList) {
  const auto refuses = [](std::vector<int> gpus, const char* message) {
    EXPECT_THAT([&] { describeAsRanksWould(host(), gpus); }, ThrowsMessage<InputError>(HasSubstr(message)));
  };
  refuses({4}, "host.xml: found GPU 4 in the list of GPUs to use; expected one of 0, 1, 2, 3");
  refuses({1, 1}, "GPU 1 twice");
  refuses({}, "empty list");
}

TEST(RankDescriptions, RefusesNumbersThatAreNotUnique) {
  std::string text = kHost;
  text.replace(text.find("dev=\"2\""), 7, "dev=\"3\"");
  EXPECT_THAT([&] { describeAsRanksWould(host(text), std::vector{3}); },
              ThrowsMessage<InputError>(HasSubstr("a second gpu with dev=\"3\"")));
  std::string ranked = kHost;
  ranked.insert(ranked.find("dev=\"3\""), "rank=\"5\" ");
  EXPECT_THAT([&] { describeAsRanksWould(host(ranked)); },
              ThrowsMessage<InputError>(HasSubstr("a gpu with rank=\"5\"")));
}

}  // namespace
}  // namespace xylem
