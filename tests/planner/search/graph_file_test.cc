// Graph files: what is written, what is read back, and what a file means for the machine it is applied to.

#include <gmock/gmock.h>

#include "planner/search/channel_search.h"
#include "planner/search/load_graph.h"
#include "core/error.h"
#include "planner/paths/job_paths.h"
#include "planner_support/machine_text.h"

namespace xylem {
namespace {

using namespace testing;  // NOLINT: the machines
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two GPUs behind one NIC, in a job of one host or of two.
const HostPaths& host(int hosts) {
  static const auto paths = [](int count) {
    const System system = systemOf(twoGpusOneNic());
    return pathsOfDomain(system, domains(system, {}), 0, 2 * count, {});
  };
  static const HostPaths alone = paths(1), two = paths(2);
  return hosts == 1 ? alone : two;
}

constexpr const char* kTwoRings = R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="2" nchannels="2" speedintra="17.5" speedinter="2.4" latencyinter="1.5" typeintra="NVL" typeinter="PXB" samechannels="0">
    <channel>
      <net dev="0"/>
      <gpu dev="0x1"/>
      <gpu dev="0"/>
      <net dev="0"/>
    </channel>
    <channel>
      <net dev="0"/>
      <gpu dev="0"/>
      <gpu dev="0x1"/>
      <net dev="0"/>
    </channel>
  </graph>
  <graph id="1" pattern="1" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
  <graph id="4" pattern="6" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
  <graph id="2" pattern="3" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
  <graph id="3" pattern="5" crossnic="0" nchannels="0" speedintra="0" speedinter="0" latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
</graphs>
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

ChannelGraph load(const std::string& text, int hosts = 2, int crossNic = 2,
                  GraphKind kind = GraphKind::kRing) {
  ChannelGraph graph;
  graph.id = graphId(kind);
  graph.minChannels = 3;
  graph.maxChannels = 5;
  loadGraph(parseGraphFile(text, "graphs.xml"), host(hosts).system, crossNic, graph);
  return graph;
}

std::vector<int> gpusOf(const ChannelGraph& graph, int channel) {
  return {graph.gpu(channel, 0), graph.gpu(channel, 1)};
}

TEST(GraphFile, LoadsWhatItSays) {
  const ChannelGraph ring = load(kTwoRings);
  EXPECT_EQ(ring.pattern, Pattern::kRing);
  EXPECT_EQ(ring.crossNic, 2);
  ASSERT_EQ(ring.nChannels, 2);
  EXPECT_EQ(ring.bwIntra, 17.5f);
  EXPECT_EQ(ring.bwInter, 2.4f);
  EXPECT_EQ(ring.latencyInter, 1.5f);
  EXPECT_EQ(ring.typeIntra, PathType::kNvl);
  EXPECT_EQ(ring.typeInter, PathType::kPxb);
  EXPECT_FALSE(ring.sameChannels);
  EXPECT_EQ(gpusOf(ring, 0), (std::vector<int>{1, 0}));
  EXPECT_EQ(gpusOf(ring, 1), (std::vector<int>{0, 1}));
  EXPECT_EQ(ring.nets, (std::vector<int>{0, 0, 0, 0}));
}

TEST(GraphFile, LeavesTheBoundsAlone) {
  const ChannelGraph ring = load(kTwoRings);
  EXPECT_EQ(ring.minChannels, 3);
  EXPECT_EQ(ring.maxChannels, 5);
}

TEST(GraphFile, IsWrittenAsItWasRead) {
  HostGraphs graphs;
  for (const GraphKind kind : kAllGraphKinds) graphs[kind] = load(kTwoRings, 2, 2, kind);
  EXPECT_EQ(writeGraphFile(graphs, host(2).system), kTwoRings);
}

TEST(GraphFile, GraphsThatWereNotComputedAreWrittenEmpty) {
  const std::string text = writeGraphFile({}, host(2).system);
  EXPECT_THAT(text,
              HasSubstr("<graph id=\"3\" pattern=\"5\" crossnic=\"0\" nchannels=\"0\" speedintra=\"0\""));
  EXPECT_THAT(text, Not(HasSubstr("<channel>")));
  EXPECT_EQ(parseGraphFile(text, "graphs.xml").graphs.size(), 5u);
}

TEST(GraphFile, OfNvlsChannelsOnlyTheHeadIsWrittenAndRead) {
  HostGraphs graphs;
  ChannelGraph& nvls = graphs[GraphKind::kNvls];
  nvls.pattern = Pattern::kNvls;
  nvls.gpuCount = 2;
  nvls.nChannels = 1;
  nvls.gpus = {1, 0};
  const std::string text = writeGraphFile(graphs, host(1).system);
  EXPECT_THAT(text, HasSubstr("<channel>\n      <gpu dev=\"0x1\"/>\n    </channel>"));
  const ChannelGraph again = load(text, 1, 2, GraphKind::kNvls);
  ASSERT_EQ(again.nChannels, 1);
  EXPECT_EQ(again.gpu(0, 0), 1);
}

TEST(GraphFile, WithoutNetsThoseOfTheFileDoNotMatter) {
  const std::string text = replaced(kTwoRings, "<net dev=\"0\"/>", "<net dev=\"0x77\"/>");
  EXPECT_EQ(load(text, 1).nets, (std::vector<int>{-1, -1, -1, -1}));
}

TEST(GraphFile, NetsThatAreMissingAreNetZero) {
  const std::string text = replaced(kTwoRings, "      <net dev=\"0\"/>\n", "");
  EXPECT_EQ(load(text).nets, (std::vector<int>{0, 0, 0, 0}));
}

TEST(GraphFile, OfSeveralGraphsOfOneIdTheLastCounts) {
  const std::string text =
      replaced(kTwoRings, "  <graph id=\"1\" pattern=\"1\"", "  <graph id=\"0\" pattern=\"4\"");
  const ChannelGraph ring = load(text);
  EXPECT_EQ(ring.nChannels, 0);
  EXPECT_EQ(ring.loadedChannels, 0);
  EXPECT_EQ(load(text, 2, 2, GraphKind::kTree).loadedChannels, 0);
}

TEST(GraphFile, CrossNicZeroPassesOverGraphsThatCross) {
  const std::string text = replaced(kTwoRings, "crossnic=\"2\"", "crossnic=\"1\"");
  EXPECT_EQ(load(text, 2, 0).nChannels, 0);
  EXPECT_EQ(load(text, 2, 1).nChannels, 2);
  EXPECT_EQ(load(kTwoRings, 2, 0).nChannels, 2);  // only 1 is "yes"
}

TEST(GraphFile, DevicesAreHexadecimalWithOrWithoutPrefix) {
  EXPECT_EQ(gpusOf(load(replaced(kTwoRings, "\"0x1\"", "\"1\"")), 0), (std::vector<int>{1, 0}));
  EXPECT_THROW(load(replaced(kTwoRings, "\"0x1\"", "\"10\"")), InputError);
}

TEST(GraphFile, ChannelsBeyondTheCountAreLeftOut) {
  const ChannelGraph ring = load(replaced(kTwoRings, "nchannels=\"2\"", "nchannels=\"1\""));
  EXPECT_EQ(ring.nChannels, 1);
  EXPECT_EQ(ring.gpus.size(), 2u);
  EXPECT_EQ(ring.loadedChannels, 2);
}

TEST(GraphFile, TypesMatchByTheirFirstLetters) {
  EXPECT_EQ(load(replaced(kTwoRings, "\"NVL\"", "\"NVLINK\"")).typeIntra, PathType::kNvl);
  std::vector<std::string> remarks;
  const GraphFile file = parseGraphFile(replaced(kTwoRings, "\"NVL\"", "\"NET\""), "graphs.xml", &remarks);
  EXPECT_EQ(file.graphs.front().typeIntra, PathType::kLoc);
  EXPECT_THAT(remarks, ElementsAre("Taking typeintra for LOC: it is not one of LOC NVL NVB PIX PXB PXN PHB "
                                   "SYS (graphs.xml:2)"));
}

TEST(GraphFile, NamesWhatItLeavesOut) {
  std::vector<std::string> remarks;
  parseGraphFile("<graphs version=\"1\">\n<graph id=\"9\"/>\n<disk/>\n</graphs>", "graphs.xml", &remarks);
  EXPECT_THAT(remarks, ElementsAre("Ignoring element disk (graphs.xml:3)",
                                   "Ignoring graph 9, which is none of NCCL's (graphs.xml:2)"));
}

TEST(GraphFile, TypesWithoutAWordAreNotWritten) {
  HostGraphs graphs;
  graphs[GraphKind::kRing].typeInter = PathType::kDis;
  try {
    writeGraphFile(graphs, host(1).system);
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the ring graph uses paths of type DIS: graph files have no word for it");
  }
}

TEST(GraphFile, WhatNcclCannotReadIsNotWritten) {
  HostGraphs graphs;
  ChannelGraph& ring = graphs[GraphKind::kRing];
  ring.gpuCount = 2;
  ring.nChannels = 2000;
  ring.gpus.resize(4000);
  EXPECT_THROW(writeGraphFile(graphs, host(1).system), Error);
}

// Through the driver of the search.
ChannelGraph compute(const std::string& text) {
  const HostPaths& two = host(2);
  const Locality locality(two.system, two.paths);
  const auto file = std::make_shared<const GraphFile>(parseGraphFile(text, "graphs.xml"));
  return HostChannels(two.system, two.paths, locality, {2, file})
      .compute({.id = 0, .pattern = Pattern::kRing, .minChannels = 1, .maxChannels = 32});
}

TEST(GraphFile, WithChannelsThereIsNoSearch) {
  const ChannelGraph ring = compute(kTwoRings);
  EXPECT_EQ(ring.nChannels, 2);
  EXPECT_THAT(ring.attempts, IsEmpty());
  EXPECT_EQ(ring.maxChannels, 32);
  EXPECT_EQ(graphLines(ring, host(2).system).front().text, "Search 0 : 2 channels loaded from XML graph");
}

TEST(GraphFile, WithoutChannelsTheSearchStartsFromWhatItSays) {
  const ChannelGraph searched = compute("<graphs version=\"1\"/>");
  EXPECT_EQ(searched.nChannels, 1);
  EXPECT_EQ(searched.attempts.front().typeInter, PathType::kPix);
  EXPECT_EQ(graphLines(searched, host(2).system).front().text, "Search 0 : 0 channels loaded from XML graph");
  const ChannelGraph started = compute(replaced(kTwoRings, "nchannels=\"2\"", "nchannels=\"0\""));
  EXPECT_EQ(started.attempts.front().typeInter, PathType::kPxb);
  EXPECT_EQ(started.attempts.front().typeIntra, PathType::kNvl);
  EXPECT_GE(started.nChannels, 1);
}

}  // namespace
}  // namespace xylem
