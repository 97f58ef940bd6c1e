// Graph files: writing, reading, refusing, and applying them to a machine.

#include "planner/search/graph_file.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "fuzz/graph_file_input.h"
#include "fuzz/replay.h"
#include "planner/paths/job_paths.h"
#include "planner/search/channel_search.h"
#include "planner_support/machine_text.h"

namespace xylem::search {
namespace {

using namespace testing;  // NOLINT: the machines
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Two GPUs behind one NIC, in a job of one host or of two.
const paths::HostPaths& host(int hosts) {
  static const auto paths = [](int count) {
    const topology::System system = systemOf(twoGpusOneNic());
    return paths::pathsOfDomain(system, paths::domains(system, {}), 0, 2 * count, {});
  };
  static const paths::HostPaths alone = paths(1), two = paths(2);
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
  EXPECT_EQ(ring.typeIntra, paths::PathType::kNvl);
  EXPECT_EQ(ring.typeInter, paths::PathType::kPxb);
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
  EXPECT_EQ(load(replaced(kTwoRings, "\"NVL\"", "\"NVLINK\"")).typeIntra, paths::PathType::kNvl);
  std::vector<std::string> remarks;
  const GraphFile file = parseGraphFile(replaced(kTwoRings, "\"NVL\"", "\"NET\""), "graphs.xml", &remarks);
  EXPECT_EQ(file.graphs.front().typeIntra, paths::PathType::kLoc);
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
  graphs[GraphKind::kRing].typeInter = paths::PathType::kDis;
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

// Loads a graph through the driver of the search.
ChannelGraph compute(const std::string& text) {
  const paths::HostPaths& two = host(2);
  const paths::Locality locality(two.system, two.paths);
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
  EXPECT_EQ(searched.attempts.front().typeInter, paths::PathType::kPix);
  EXPECT_EQ(graphLines(searched, host(2).system).front().text, "Search 0 : 0 channels loaded from XML graph");
  const ChannelGraph started = compute(replaced(kTwoRings, "nchannels=\"2\"", "nchannels=\"0\""));
  EXPECT_EQ(started.attempts.front().typeInter, paths::PathType::kPxb);
  EXPECT_EQ(started.attempts.front().typeIntra, paths::PathType::kNvl);
  EXPECT_GE(started.nChannels, 1);
}

topology::System pairBy(const char* version) {
  const auto rules = rules::rulesOf(rules::parseVersion(version).value());
  return topology::buildSystem(
      topology::completeForJob(topology::parseTopology(twoGpusOneNic(), "test.xml"), *rules), rules);
}

// The GPUs of a channel that is written with these ranks, the first one for the first GPU.
std::vector<int> loadedWith(const char* version, int first, int second) {
  const topology::System system = pairBy(version);
  const GraphFile file = parseGraphFile(
      fmt::format(
          R"(<graphs version="1"><graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="12" speedinter="12")"
          R"( typeintra="PIX" typeinter="PIX" samechannels="1"><channel><net dev="0"/><gpu dev="0" rank="{}"/>)"
          R"(<gpu dev="0x1" rank="{}"/><net dev="0"/></channel></graph></graphs>)",
          first, second),
      "graphs.xml");
  ChannelGraph ring;
  ring.id = 0;
  loadGraph(file, system, 2, ring);
  return {ring.gpu(0, 0), ring.gpu(0, 1)};
}

TEST(GraphFile, RanksCountSince230IfTheyAreTheHosts) {
  using ::testing::ElementsAre;
  EXPECT_THAT(loadedWith("2.30.7", 1, 0), ElementsAre(1, 0));
  EXPECT_THAT(loadedWith("2.29.7", 1, 0), ElementsAre(0, 1));
  EXPECT_THAT(loadedWith("2.30.7", 0, 2), ElementsAre(0, 1)) << "as of a job that goes round the hosts";
  EXPECT_THAT(loadedWith("2.30.7", 2, 3), ElementsAre(0, 1)) << "of the second host";
}

TEST(GraphFile, OlderVersionsReadShorterFiles) {
  GraphFile file = parseGraphFile(kTwoRings, "long.xml");
  file.elements = 4097;
  ChannelGraph ring;
  ring.id = 0;
  EXPECT_NO_THROW(loadGraph(file, pairBy("2.29.7"), 2, ring));
  EXPECT_THAT([&] { loadGraph(file, pairBy("2.28.9"), 2, ring); },
              ::testing::ThrowsMessage<InputError>(
                  HasSubstr("long.xml: found 4097 elements; expected at most 4096, as NCCL 2.28.9 reads")));
}

// Refusals: the messages name file, line, what was found and what was expected.

constexpr const char* kHead =
    R"(id="0" pattern="4" crossnic="0" nchannels="1" speedintra="12" speedinter="12" typeintra="PIX" typeinter="PIX" samechannels="1")";
constexpr const char* kChannel =
    "<channel>\n<net dev=\"0\"/>\n<gpu dev=\"0\"/>\n<gpu dev=\"0x1\"/>\n<net dev=\"0\"/>\n</channel>";

// Line 2 is the graph, line 3 the channel, line 4 its first device.
std::string fileWith(const std::string& head, const std::string& channels) {
  return "<graphs version=\"1\">\n<graph " + head + ">\n" + channels + "\n</graph>\n</graphs>\n";
}

std::string withHead(const std::string& from, const std::string& to) {
  return fileWith(replaced(kHead, from, to), kChannel);
}
std::string withChannel(const std::string& from, const std::string& to) {
  return fileWith(kHead, replaced(kChannel, from, to));
}

// Returns the message about a file that is applied to two GPUs and a NIC, or `accepted`.
std::string refusal(const std::string& text) {
  static const topology::System system = systemOf(twoGpusOneNic());
  try {
    const GraphFile file = parseGraphFile(text, "bad.xml");
    for (const GraphKind kind : kAllGraphKinds) {
      ChannelGraph graph;
      graph.id = graphId(kind);
      loadGraph(file, system, 2, graph);
    }
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct Case {
  const char* name;
  std::string text;
  const char* start;  // of the message
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class GraphFileRefusal : public ::testing::TestWithParam<Case> {};

TEST_P(GraphFileRefusal, NamesFileLineFoundAndExpected) {
  const std::string message = refusal(GetParam().text);
  EXPECT_THAT(message, StartsWith(GetParam().start));
  EXPECT_THAT(message, HasSubstr("; expected "));
  EXPECT_LT(message.size(), 250u);
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphFileRefusal,
    ::testing::Values(
        Case{"Empty", "", "bad.xml:1: found no element"},
        Case{"Topology", "<system version=\"1\"/>",
             "bad.xml:1: found the element system as the root; expected `<graphs version=\"1\">`: a graph "
             "file"},
        Case{"NoVersion", "<graphs/>", "bad.xml:1: found graphs without `version`"},
        Case{"Version2", "<graphs version=\"2\"/>", "bad.xml:1: found version=\"2\""},
        Case{"Unfinished", "<graphs version=\"1\">\n<graph ", "bad.xml:2: found"},
        Case{"TooManyElements",
             "<graphs version=\"1\">" +
                 [] {
                   std::string many;
                   for (int i = 0; i < 65536; ++i) many += "<x/>";
                   return many;
                 }() +
                 "</graphs>",
             "bad.xml:1: found more than 65536 elements"},
        Case{"NoId", withHead("id=\"0\"", ""), "bad.xml:2: found graph without `id`"},
        Case{"NoPattern", withHead("pattern=\"4\"", ""), "bad.xml:2: found graph without `pattern`"},
        Case{"NoCrossNic", withHead("crossnic=\"0\"", ""), "bad.xml:2: found graph without `crossnic`"},
        Case{"NoChannelCount", withHead("nchannels=\"1\"", ""), "bad.xml:2: found graph without `nchannels`"},
        Case{"NoSpeedIntra", withHead("speedintra=\"12\"", ""),
             "bad.xml:2: found graph without `speedintra`"},
        Case{"NoSpeedInter", withHead("speedinter=\"12\"", ""),
             "bad.xml:2: found graph without `speedinter`"},
        Case{"NoTypeIntra", withHead("typeintra=\"PIX\"", ""), "bad.xml:2: found graph without `typeintra`"},
        Case{"NoTypeInter", withHead("typeinter=\"PIX\"", ""), "bad.xml:2: found graph without `typeinter`"},
        Case{"NoSameChannels", withHead("samechannels=\"1\"", ""),
             "bad.xml:2: found graph without `samechannels`"},
        Case{"RingOfTreePattern", withHead("pattern=\"4\"", "pattern=\"3\""),
             "bad.xml:2: found pattern=\"3\" in graph 0, the ring graph; expected one of 4 (RING)"},
        Case{
            "TreeOfRingPattern", withHead("id=\"0\"", "id=\"1\""),
            "bad.xml:2: found pattern=\"4\" in graph 1, the tree graph; expected one of 1 (BALANCED_TREE), 2 "
            "(SPLIT_TREE), 3 (TREE)"},
        Case{"CrossNicOutOfRange", withHead("crossnic=\"0\"", "crossnic=\"3\""),
             "bad.xml:2: found graph with crossnic=\"3\"; expected an integer from 0 to 2"},
        Case{"SpeedIsText", withHead("speedintra=\"12\"", "speedintra=\"fast\""),
             "bad.xml:2: found graph with speedintra=\"fast\""},
        Case{"SpeedIsInfinite", withHead("speedinter=\"12\"", "speedinter=\"inf\""),
             "bad.xml:2: found graph with speedinter=\"inf\""},
        Case{"TooManyChannels", withHead("nchannels=\"1\"", "nchannels=\"65\""),
             "bad.xml:2: found graph with nchannels=\"65\"; expected an integer from 0 to 64"},
        Case{
            "FewerChannelsThanSaid", withHead("nchannels=\"1\"", "nchannels=\"2\""),
            "bad.xml:2: found graph 0 with nchannels=\"2\" and 1 channel element; expected a channel element "
            "for each channel"},
        Case{"NoDev", withChannel("<gpu dev=\"0\"/>", "<gpu/>"), "bad.xml:5: found gpu without `dev`"},
        Case{"DevIsText", withChannel("<gpu dev=\"0\"/>", "<gpu dev=\"one\"/>"),
             "bad.xml:5: found gpu with dev=\"one\"; expected a hexadecimal number"},
        Case{"UnknownGpu", withChannel("0x1", "0x8"),
             "bad.xml:6: found gpu with dev=\"0x8\"; expected one of this job's host: 0 0x1"},
        Case{"GpuOfAnotherSystem", withChannel("0x1", "0x100000000000001"),
             "bad.xml:6: found gpu with dev=\"0x100000000000001\""},
        Case{"GpuTwice", withChannel("0x1", "0"),
             "bad.xml:6: found gpu with dev=\"0\" twice in a channel; expected each GPU once"},
        Case{"GpuMissing", withChannel("<gpu dev=\"0\"/>", ""),
             "bad.xml:3: found a channel with 1 gpu element; expected one for each of the 2 GPUs of this "
             "job's host"},
        Case{"UnknownNet", withChannel("<net dev=\"0\"/>", "<net dev=\"0x7\"/>"),
             "bad.xml:4: found net with dev=\"0x7\"; expected the only one in this job: 0"},
        Case{"ThreeNets", withChannel("<net dev=\"0\"/>", "<net dev=\"0\"/><net dev=\"0\"/>"),
             "bad.xml:3: found a channel with 3 net elements; expected two: where it starts and where it "
             "ends"},
        Case{"HeadlessNvls",
             replaced(withHead("id=\"0\" pattern=\"4\"", "id=\"3\" pattern=\"5\""),
                      "<gpu dev=\"0\"/>\n<gpu dev=\"0x1\"/>", ""),
             "bad.xml:3: found a channel with 0 gpu elements; expected its head"}),
    [](const auto& tested) { return tested.param.name; });

TEST(GraphFileRefusal, TreesThatNeedTwoGpus) {
  const topology::System one = systemOf(machine(cpu(0, gpu("0000:11:00.0", 0, 90))));
  ChannelGraph tree;
  tree.id = graphId(GraphKind::kTree);
  const std::string text = fileWith(replaced(kHead, "id=\"0\" pattern=\"4\"", "id=\"1\" pattern=\"1\""),
                                    "<channel><gpu dev=\"0\"/></channel>");
  try {
    loadGraph(parseGraphFile(text, "bad.xml"), one, 2, tree);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "bad.xml:2: found pattern=\"1\" for one GPU; expected pattern=\"3\": BALANCED_TREE needs two");
  }
}

TEST(GraphFileRefusal, AFileThatIsNotThere) {
  EXPECT_THROW(readGraphFile("/no/such/graphs.xml"), InputError);
}

// Replays the corpus of the graph file fuzzer (tests/fuzz): every input that once broke something goes there
// and stays.
TEST(Corpus, EveryGraphFileIsReadOrRefused) {
  const Replayed replayed = replayCorpus("graph_file", feedGraphFile);
  EXPECT_GE(replayed.accepted, 10);
  EXPECT_GE(replayed.refused, 10);
}

}  // namespace
}  // namespace xylem::search
