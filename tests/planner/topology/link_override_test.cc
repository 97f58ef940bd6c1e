// Bandwidths in place of NCCL's rules: the attribute `bw`, and --link.
#include "planner/topology/link_override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/topology/attributes.h"
#include "planner_support/machine_text.h"
#include "planner_support/rules.h"

namespace xylem::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two Intel sockets, a GPU with NVLinks on each.
std::string twoSockets(const std::string& cpuBw = "", const std::string& nvlinkBw = "") {
  const std::string kind = R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85" )" + cpuBw;
  const auto links = [&](const char* target) {
    std::string link = testing::nvlink(target, 2);
    return link.insert(link.find("count"), nvlinkBw + " ");
  };
  return testing::machine(testing::cpu(0, testing::gpu("0000:11:00.0", 0, 80, links("0000:12:00.0")), kind) +
                          testing::cpu(1, testing::gpu("0000:12:00.0", 1, 80, links("0000:11:00.0")), kind));
}

Document parse(const std::string& text) { return parseTopology(text, "test.xml"); }

float bandwidth(const System& system, NodeId from, NodeId to, LinkType type) {
  const LinkId link = system.findLink(from, to, type);
  return link == kNoLink ? 0 : system.link(link).bandwidth;
}

TEST(LinkOverride, StandsInPlaceOfTheRule) {
  const System plain = testing::systemOf(twoSockets());
  const System given = testing::systemOf(twoSockets(R"(bw="32.5")", R"(bw="300")"));
  const auto cpus = [](const System& system) {
    return bandwidth(system, system.node(NodeType::kCpu, 0), system.node(NodeType::kCpu, 1), LinkType::kSys);
  };
  const auto gpus = [](const System& system) {
    return bandwidth(system, system.node(NodeType::kGpu, 0), system.node(NodeType::kGpu, 1), LinkType::kNvl);
  };
  EXPECT_FLOAT_EQ(cpus(plain), 10);
  EXPECT_FLOAT_EQ(cpus(given), 32.5);
  EXPECT_FLOAT_EQ(gpus(plain), 40);
  EXPECT_FLOAT_EQ(gpus(given), 300);
  EXPECT_TRUE(plain.overrides().empty());
  ASSERT_EQ(given.overrides().size(), 4U);
  EXPECT_FLOAT_EQ(given.overrides()[0].byRule, 10);
}

TEST(LinkOverride, IsSetFromACommandLine) {
  Document document = parse(twoSockets());
  overrideLink(document, "CPU-CPU=32", {"--link", 0});
  overrideLink(document, "0000:12:00.0=50", {"--link", 0});
  EXPECT_THAT(overrideTexts(document, testing::rules225()),
              ElementsAre(HasSubstr("32 GB/s between CPUs instead of the 10 of NCCL's rule"),
                          HasSubstr("50 GB/s on the link of 0000:12:00.0 instead of the 12")));
  EXPECT_THAT(overrideTexts(parse(twoSockets()), testing::rules225()), IsEmpty());
}

TEST(LinkOverride, RefusesWhatIsNoBandwidth) {
  for (const char* text : {"", "CPU-CPU", "CPU-CPU=", "CPU-CPU=0", "CPU-CPU=-1", "CPU-CPU=fast",
                           "CPU-CPU=inf", "=3", "GPU-GPU=3", "0000:77:00.0=3"}) {
    Document document = parse(twoSockets());
    EXPECT_THROW(overrideLink(document, text, {"--link", 0}), InputError) << text;
  }
  for (const char* bw : {R"(bw="0")", R"(bw="-1")", R"(bw="x")", R"(bw="1e9")"})
    EXPECT_THROW(testing::systemOf(twoSockets(bw)), InputError) << bw;
}

}  // namespace
}  // namespace xylem::topology
