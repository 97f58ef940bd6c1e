// What graph files are refused for, and how: file, line, found, expected.

#include <gmock/gmock.h>

#include "planner/search/load_graph.h"
#include "core/error.h"
#include "planner_support/machine_text.h"

namespace xylem {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kHead =
    R"(id="0" pattern="4" crossnic="0" nchannels="1" speedintra="12" speedinter="12" typeintra="PIX" typeinter="PIX" samechannels="1")";
constexpr const char* kChannel =
    "<channel>\n<net dev=\"0\"/>\n<gpu dev=\"0\"/>\n<gpu dev=\"0x1\"/>\n<net dev=\"0\"/>\n</channel>";

// Line 2 is the graph, line 3 the channel, line 4 its first device.
std::string graphs(const std::string& head, const std::string& channels) {
  return "<graphs version=\"1\">\n<graph " + head + ">\n" + channels + "\n</graph>\n</graphs>\n";
}

std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) ADD_FAILURE() << from;
  return text.replace(at, from.size(), to);
}
std::string withHead(const std::string& from, const std::string& to) {
  return graphs(edited(kHead, from, to), kChannel);
}
std::string withChannel(const std::string& from, const std::string& to) {
  return graphs(kHead, edited(kChannel, from, to));
}

// Of two GPUs and a NIC.
std::string refusal(const std::string& text) {
  static const System system = testing::systemOf(testing::twoGpusOneNic());
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
                   for (int i = 0; i < 4096; ++i) many += "<x/>";
                   return many;
                 }() +
                 "</graphs>",
             "bad.xml:1: found more than 4096 elements"},
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
             edited(withHead("id=\"0\" pattern=\"4\"", "id=\"3\" pattern=\"5\""),
                    "<gpu dev=\"0\"/>\n<gpu dev=\"0x1\"/>", ""),
             "bad.xml:3: found a channel with 0 gpu elements; expected its head"}),
    [](const auto& tested) { return tested.param.name; });

TEST(GraphFileRefusal, TreesThatNeedTwoGpus) {
  const System one =
      testing::systemOf(testing::machine(testing::cpu(0, testing::gpu("0000:11:00.0", 0, 90))));
  ChannelGraph tree;
  tree.id = graphId(GraphKind::kTree);
  const std::string text = graphs(edited(kHead, "id=\"0\" pattern=\"4\"", "id=\"1\" pattern=\"1\""),
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

}  // namespace
}  // namespace xylem
