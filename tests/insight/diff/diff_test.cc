// Comparisons of plans: equal plans have no difference, and each change of a machine or a setting has its
// known effects.

#include "insight/diff/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz/plan_file_input.h"
#include "fuzz/replay.h"
#include "insight/diff/document.h"
#include "planner/plan/plan_json.h"
#include "planner_support/machine_text.h"
#include "support/sanitizers.h"

namespace xylem::diff {
namespace {

using namespace testing;  // NOLINT: the machines
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kZoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";
const std::string kGoldens = std::string(XYLEM_SOURCE_DIR) + "/tests/golden/nccl/";

std::string textOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

PlanFacts factsOfText(const std::string& text, int hosts = 1,
                      const std::map<std::string, std::string>& settings = {}) {
  const plan::PlanRequest request = plan::identicalHosts(topology::parseTopology(text, "test.xml"), hosts);
  return factsOf(plan::planJob(request, Settings::fromPairs(settings)), request);
}
PlanFacts zoo(const std::string& name, int hosts = 2,
              const std::map<std::string, std::string>& settings = {}) {
  return factsOfText(textOf(kZoo + name + ".xml"), hosts, settings);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

auto changes(const std::string& kind, const std::string& what, const std::string& before,
             const std::string& after) {
  return AllOf(Field("kind", &Change::kind, kind), Field("what", &Change::what, what),
               Field("before", &Change::before, before), Field("after", &Change::after, after));
}

TEST(Diff, AMachineDoesNotDifferFromItself) {
  for (const char* name : {"dgxh100", "dgx1v", "summit", "net-faster-than-p2p", "gh200x1", "pcilink-bcm"}) {
    const PlanDiff diff = comparePlans(zoo(name), zoo(name));
    EXPECT_TRUE(diff.samePlan() && diff.sameCauses()) << name << toJson(diff, "a", "b");
    EXPECT_THAT(diff.remarks, IsEmpty()) << name;
  }
}

// Compares every golden plan of the zoo, read from its file, with the plan made now.
TEST(Diff, GoldenPlansAreThePlans) {
  int compared = 0, place = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kGoldens)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".n2.json") || place++ % testing::kMachineStride != 0) continue;
    const std::string machine = name.substr(0, name.size() - std::string(".n2.json").size());
    const PlanDiff diff =
        comparePlans(factsOfJson(textOf(entry.path()), name), zoo(machine, 2, {{"XYLEM_NCCL", "2.25.1"}}));
    EXPECT_TRUE(diff.samePlan() && diff.sameCauses()) << name << toJson(diff, "golden", "planned");
    ++compared;
  }
  EXPECT_GT(compared, 30 / testing::kMachineStride);
}

TEST(Diff, FewerNvlinksOfOneGpu) {
  const std::string before = textOf(kZoo + "dgxa100.xml");
  const PlanDiff diff =
      comparePlans(factsOfText(before, 2), factsOfText(with(before, "count=\"12\"", "count=\"4\""), 2));
  EXPECT_FALSE(diff.samePlan());
  ASSERT_THAT(diff.machine, ElementsAre(changes("nvlink", "count", "12", "4")));
  const ChangedThing& link = diff.machine[0].things.at(0);
  EXPECT_EQ(link.name, "0000:07:00.0 to fffffff:ffff:ff");
  EXPECT_EQ(link.lineA, 7);
  EXPECT_EQ(link.lineB, 7);
  EXPECT_THAT(diff.links, ElementsAre(changes("link", "", "NVL 240.0", "NVL 80.0")));
  ASSERT_THAT(diff.paths, ElementsAre(changes("GPU pair", "", "NVL 240.0", "NVL 80.0")));
  EXPECT_THAT(diff.paths[0].things, SizeIs(7));
  EXPECT_EQ(diff.paths[0].outOf, 28);
  EXPECT_EQ(diff.paths[0].things[0].name, "GPU 0 - GPU 1");
  EXPECT_THAT(diff.decisions, IsEmpty());
  EXPECT_THAT(diff.channels, Contains(changes("ring", "channels", "8", "5")));
  EXPECT_THAT(diff.connections, Contains(changes("job", "channels", "16", "10")));
  const auto slower = std::find_if(diff.choices.begin(), diff.choices.end(), [](const ChoiceChange& change) {
    return change.collective == "AllReduce" && change.before != change.after;
  });
  ASSERT_NE(slower, diff.choices.end());
  EXPECT_EQ(slower->before, "Tree LL128");
  EXPECT_EQ(slower->after, "Ring LL128");
  EXPECT_GT(slower->minRatio, 1);
}

// The reasons are the sentences of both sides, without the names of the devices.
TEST(Diff, DecisionsCarryTheReasonsOfBothSides) {
  const PlanDiff diff = comparePlans(zoo("dgxa100"), zoo("dgxa100-nogdr"));
  EXPECT_THAT(diff.machine, ElementsAre(changes("net", "gdr", "1", "0")));
  const auto gdr = std::find_if(diff.decisions.begin(), diff.decisions.end(),
                                [](const Change& change) { return change.what == kRuleGdrReceive; });
  ASSERT_NE(gdr, diff.decisions.end());
  EXPECT_THAT(gdr->things, SizeIs(64));
  EXPECT_EQ(gdr->before, "yes");
  EXPECT_EQ(gdr->after, "no");
  EXPECT_THAT(gdr->whyBefore, HasSubstr("within P2C (NCCL_NET_GDR_LEVEL)"));
  EXPECT_THAT(gdr->whyAfter, HasSubstr("the network device has gdr=\"0\""));
}

// A host of two CPUs with a GPU each, and a NIC at the CPU `numa`.
std::string nicAt(int numa) {
  const std::string first = gpu("0000:11:00.0", 0, 80);
  const std::string second = gpu("0000:21:00.0", 1, 80);
  const std::string net = nic("0000:15:00.0", 0, 100000);
  return machine(cpu(0, first + (numa == 0 ? net : "")) + cpu(1, second + (numa == 1 ? net : "")));
}

TEST(Diff, AMovedNicIsFollowedByItsPaths) {
  const PlanDiff diff = comparePlans(factsOfText(nicAt(0), 2), factsOfText(nicAt(1), 2));
  EXPECT_THAT(diff.machine, ElementsAre(changes("pci", "place", "cpu 0", "cpu 1")));
  EXPECT_THAT(diff.paths, AllOf(Contains(changes("GPU-NET pair", "", "PHB 12.0", "SYS 10.0")),
                                Contains(changes("GPU-NET pair", "", "SYS 10.0", "PHB 12.0"))));
  EXPECT_THAT(diff.order, IsEmpty());
}

TEST(Diff, NetsAreMatchedByNameWhateverTheirNumber) {
  const auto host = [](int first, int second) {
    return with(with(machine(cpu(0, gpu("0000:11:00.0", 0, 80) + nic("0000:15:00.0", first, 100000) +
                                        nic("0000:16:00.0", second, 100000))),
                     fmt::format("name=\"mlx5_{}\"", first), "name=\"left\""),
                fmt::format("name=\"mlx5_{}\"", second), "name=\"right\"");
  };
  const PlanDiff diff = comparePlans(factsOfText(host(0, 1), 2), factsOfText(host(1, 0), 2));
  EXPECT_THAT(diff.machine, Contains(changes("net", "dev", "0", "1")));
  EXPECT_THAT(diff.paths, IsEmpty());
}

// A machine of the zoo whose devices have other names: bus ids count up from 0000:a0:00.0, NICs are rdma1,
// rdma2 and so on.
std::string renamed(std::string text) {
  std::map<std::string, std::string> names;
  for (const char* attribute : {"busid=\"", "target=\"0", "<net name=\"", "guid=\""}) {
    const std::string start = attribute;
    for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
      at += start.size() - (start.ends_with('0') ? 1 : 0);
      const std::size_t end = text.find('"', at);
      std::string& name = names[text.substr(at, end - at)];
      if (name.empty() && start.starts_with("<net"))
        name = fmt::format("rdma{}", names.size());
      else if (name.empty())
        name = start.starts_with("guid") ? fmt::format("0x{:x}", 0x7000 + names.size())
                                         : fmt::format("0000:{:02x}:00.0", 0xa0 + names.size());
      text.replace(at, end - at, name);
      at += name.size();
    }
  }
  return text;
}

TEST(Diff, NamesAreNoDifference) {
  for (const char* name : {"dgxh100", "dgx1v", "l40sx8-pcie", "a100x4-mesh-4nic", "dgxa100"}) {
    const std::string text = textOf(kZoo + name + ".xml");
    const PlanDiff diff = comparePlans(factsOfText(text, 2), factsOfText(renamed(text), 2));
    EXPECT_TRUE(diff.samePlan() && diff.sameCauses()) << name << toJson(diff, "a", "b");
    EXPECT_FALSE(diff.names.empty()) << name;
    EXPECT_THAT(diff.remarks, ElementsAre(AllOf(StartsWith("other names in B"), HasSubstr(" is rdma"),
                                                HasSubstr("bus ids"))))
        << name;
  }
}

TEST(Diff, RealDifferencesShowAmongOtherNames) {
  const std::string text = textOf(kZoo + "dgxa100.xml");
  const std::string other = renamed(with(text, "count=\"12\"", "count=\"4\""));
  const PlanDiff diff = comparePlans(factsOfText(text, 2), factsOfText(other, 2));
  ASSERT_THAT(diff.machine, ElementsAre(changes("nvlink", "count", "12", "4")));
  EXPECT_EQ(diff.machine[0].things.at(0).name, "0000:07:00.0 to fffffff:ffff:ff");
  EXPECT_THAT(diff.links, ElementsAre(changes("link", "", "NVL 240.0", "NVL 80.0")));
  ASSERT_THAT(diff.paths, ElementsAre(changes("GPU pair", "", "NVL 240.0", "NVL 80.0")));
  EXPECT_EQ(diff.paths[0].things[0].name, "GPU 0 - GPU 1");
}

// One card more in front of the others shifts the numbers of all: most names are on both sides, but not for the
// same devices.
TEST(Diff, NamesThatAgreeByAccidentDoNotCount) {
  const std::string text = textOf(kZoo + "dgxh100.xml");
  std::string shifted = text;
  for (int card = 7; card >= 0; --card)
    shifted = with(shifted, fmt::format("mlx5_{}\"", card), fmt::format("mlx5_{}\"", card + 1));
  const PlanDiff diff = comparePlans(factsOfText(text, 2), factsOfText(shifted, 2));
  EXPECT_TRUE(diff.samePlan() && diff.sameCauses()) << toJson(diff, "a", "b");
  EXPECT_THAT(diff.remarks, ElementsAre(HasSubstr("NICs (mlx5_0 is mlx5_1, mlx5_1 is mlx5_2, 6 more)")));
  EXPECT_EQ(toJson(diff, "a", "b")["names"][0]["b"], "mlx5_1");
}

// Where both machines have the same names, a NIC that is elsewhere has moved.
TEST(Diff, NicsThatChangedPlacesHaveMoved) {
  const auto host = [](int first, int second) {
    return machine(cpu(0, gpu("0000:11:00.0", 0, 80) + nic("0000:15:00.0", first, 100000)) +
                   cpu(1, gpu("0000:21:00.0", 1, 80) + nic("0000:25:00.0", second, 100000)));
  };
  const PlanDiff diff = comparePlans(factsOfText(host(0, 1), 2), factsOfText(host(1, 0), 2));
  EXPECT_THAT(diff.machine, Contains(Field("what", &Change::what, "place")));
  EXPECT_THAT(diff.names, IsEmpty());
}

TEST(Diff, NetsOfPlansWithoutACommonNameAreMatchedByNumber) {
  const auto factsOfPlan = [](const std::string& text, const char* file) {
    const plan::PlanRequest request = plan::identicalHosts(topology::parseTopology(text, "test.xml"), 2);
    return factsOfJson(plan::toJson(plan::planJob(request, Settings()), 0).dump(), file);
  };
  const std::string text = textOf(kZoo + "dgxh100.xml");
  std::string other = text;
  for (int card = 0; card < 8; ++card)
    other = with(with(other, "guid=\"0x9c", "guid=\"0x7c"), fmt::format("mlx5_{}\"", card),
                 fmt::format("rdma{}\"", card));
  const PlanDiff diff = comparePlans(factsOfPlan(text, "a.json"), factsOfPlan(other, "b.json"));
  EXPECT_TRUE(diff.samePlan()) << toJson(diff, "a", "b");
  EXPECT_THAT(diff.remarks, ElementsAre(HasSubstr("compared by number")));
}

TEST(Diff, AnotherOrderIsNamedAsTheCause) {
  const std::string one = cpu(0, gpu("0000:11:00.0", 0, 80) + nic("0000:15:00.0", 0, 100000));
  const std::string two = cpu(1, gpu("0000:21:00.0", 1, 80) + nic("0000:25:00.0", 1, 100000));
  const PlanDiff diff = comparePlans(factsOfText(machine(one + two), 2), factsOfText(machine(two + one), 2));
  EXPECT_THAT(diff.machine, IsEmpty());
  EXPECT_THAT(diff.order, ElementsAre(changes("system", "order inside", "cpu 0, cpu 1", "cpu 1, cpu 0")));
  EXPECT_THAT(diff.paths, IsEmpty());
  EXPECT_THAT(diff.remarks, ElementsAre(HasSubstr("order")));
}

TEST(Diff, OtherMachinesAreComparedByRank) {
  const PlanDiff diff = comparePlans(zoo("dgxa100"), zoo("dgxh100"));
  EXPECT_THAT(diff.remarks, Contains(HasSubstr("compared by rank")));
  ASSERT_FALSE(diff.paths.empty());
  EXPECT_EQ(diff.paths[0].things.at(0).name, "GPU 0 - GPU 1");
  EXPECT_THAT(diff.paths, Contains(changes("GPU pair", "", "NVL 240.0", "NVL 370.8")));
}

TEST(Diff, SettingsAndWhatTheyChange) {
  const PlanDiff diff = comparePlans(zoo("dgxa100"), zoo("dgxa100", 2, {{"NCCL_PXN_DISABLE", "1"}}));
  EXPECT_THAT(diff.asked, ElementsAre(changes("setting", "NCCL_PXN_DISABLE", "not set", "1")));
  EXPECT_THAT(diff.machine, IsEmpty());
  EXPECT_THAT(diff.paths, ElementsAre(changes("GPU-NET pair", "", "PXN 24.0", "SYS 16.0")));
  EXPECT_THAT(diff.decisions, Contains(Field("what", &Change::what, kRuleProxy)));
  EXPECT_TRUE(comparePlans(zoo("dgxa100"), zoo("dgxa100", 2, {{"NCCL_CROSS_NIC", "0"}})).samePlan());
}

TEST(Diff, AlgorithmsThatASettingRulesOut) {
  const PlanDiff diff = comparePlans(zoo("dgxa100"), zoo("dgxa100", 2, {{"NCCL_ALGO", "Ring"}}));
  EXPECT_THAT(diff.channels, IsEmpty());
  EXPECT_THAT(diff.connections, IsEmpty());
  ASSERT_FALSE(diff.choices.empty());
  for (const ChoiceChange& change : diff.choices) {
    EXPECT_EQ(change.collective, "AllReduce");
    EXPECT_THAT(change.before, StartsWith("Tree"));
    EXPECT_THAT(change.after, StartsWith("Ring"));
    EXPECT_GE(change.minRatio, 1);
  }
}

TEST(Diff, HostsThatSplitIntoNodes) {
  const PlanDiff diff = comparePlans(zoo("dgx1v", 1), zoo("dgx1v", 1, {{"NCCL_P2P_DISABLE", "1"}}));
  EXPECT_THAT(diff.connections, Contains(changes("job", "nodes as NCCL counts them", "1", "2")));
  EXPECT_THAT(diff.paths, Contains(changes("GPU pair", "", "NVL 40.0", "only over the network")));
  EXPECT_THAT(diff.links, IsEmpty());
}

TEST(Diff, ElementsThatCameAndWent) {
  const std::string small = machine(cpu(0, gpu("0000:11:00.0", 0, 80)));
  const std::string large =
      machine(cpu(0, gpu("0000:11:00.0", 0, 80)) + cpu(1, nic("0000:25:00.0", 0, 100000)));
  const topology::Document a = topology::parseTopology(small, "a.xml");
  const topology::Document b = topology::parseTopology(large, "b.xml");
  EXPECT_THAT(compareDocuments(a, b).elements,
              ElementsAre(changes("cpu", "", "", "there, with 3 elements inside")));
  EXPECT_THAT(compareDocuments(b, a).elements,
              ElementsAre(changes("cpu", "", "there, with 3 elements inside", "")));
}

TEST(Diff, BusIdsAreNumbersNotTexts) {
  const topology::Document a = topology::parseTopology(machine(cpu(0, gpu("0000:1B:00.0", 0, 80))), "a.xml");
  const topology::Document b = topology::parseTopology(machine(cpu(0, gpu("0000:1b:00.0", 0, 80))), "b.xml");
  EXPECT_THAT(compareDocuments(a, b).elements, IsEmpty());
}

TEST(Diff, LightPlansAreComparedAsFarAsTheyGo) {
  const PlanDiff diff =
      comparePlans(factsOfJson(textOf(kGoldens + "dgxa100.n4.json"), "light.json"), zoo("dgxa100", 4));
  EXPECT_TRUE(diff.samePlan());
  EXPECT_THAT(diff.remarks, ElementsAre(HasSubstr("light.json has no nodes")));
}

TEST(Diff, RefusesJsonThatIsNoPlan) {
  for (const char* text : {"", "{", "[]", "{}", "3", R"({"format":"xylem-plan-1"})",
                           R"({"format":"xylem-plan-2"})", R"({"format":"xylem-plan-1","error":"none"})",
                           R"({"format":"xylem-plan-1","input":{},"job":{"ranks":"two"}})"})
    EXPECT_THROW(factsOfJson(text, "plan.json"), InputError) << text;
  std::string plan = textOf(kGoldens + "gpu1-nic1.n1.json");
  for (std::size_t cut = 0; cut < plan.size(); cut += 97)
    EXPECT_THROW(factsOfJson(plan.substr(0, cut), "cut.json"), InputError) << cut;
}

// A random value of the tree.
nlohmann::json& anyValue(nlohmann::json& root) {
  nlohmann::json* at = &root;
  while (at->is_structured() && !at->empty() && *rc::gen::inRange(0, 8) > 0) {
    auto child = at->begin();
    std::advance(child, *rc::gen::inRange(0, static_cast<int>(at->size())));
    at = &*child;
  }
  return *at;
}

TEST(DiffProperty, WhateverAPlanFileHoldsIsComparedOrRefused) {
  const PlanFacts sound = zoo("seed-a40x2");
  const auto golden = nlohmann::json::parse(textOf(kGoldens + "seed-a40x2.n2.json"));
  EXPECT_TRUE(rc::check([&] {
    nlohmann::json broken = golden;
    for (int edits = *rc::gen::inRange(1, 4); edits > 0; --edits)
      anyValue(broken) = *rc::gen::element<nlohmann::json>(
          nullptr, -1, 1000000, 1e300, true, "", "NET/0-7", "GPU/0-99000", "\x1b[2J", nlohmann::json::array(),
          nlohmann::json::object(), nlohmann::json::array({1, "a", nullptr}),
          nlohmann::json{{"sample", {{"x", 1}}}});
    try {
      const PlanFacts facts = factsOfJson(broken.dump(), "broken.json");
      const auto textOfDiff = [](const PlanDiff& diff) {
        return toJson(diff, "a", "b").dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
      };
      textOfDiff(comparePlans(facts, sound));
      const std::string text = textOfDiff(comparePlans(sound, facts));
      RC_ASSERT(text.find('\x1b') == std::string::npos);
    } catch (const InputError&) {
    }
  }));
}

TEST(Diff, RefusesBottomlessJson) {
  const std::string open(100'000, '[');
  const std::string close(100'000, ']');
  EXPECT_THROW(factsOfJson(R"({"format":"xylem-plan-1","input":)" + open + close + "}", "deep.json"),
               InputError);
}

// The comparison of b with a finds the changes of a with b, the other way round.
TEST(DiffProperty, IsItsOwnMirrorImage) {
  EXPECT_TRUE(rc::check([] {
    const auto any = [] {
      return *rc::gen::element<std::string>("dgxa100", "dgx1v", "seed-a40x2", "dgxa100-nogdr", "pcilink-bcm",
                                            "dgxa100-7gpu");
    };
    const PlanFacts a = zoo(any(), *rc::gen::inRange(1, 3));
    const PlanFacts b = zoo(any(), *rc::gen::inRange(1, 3));
    const PlanDiff there = comparePlans(a, b);
    const PlanDiff back = comparePlans(b, a);
    RC_ASSERT(there.samePlan() == back.samePlan());
    RC_ASSERT(there.choices.size() == back.choices.size());
    for (const auto list : {&PlanDiff::machine, &PlanDiff::links, &PlanDiff::paths, &PlanDiff::decisions,
                            &PlanDiff::channels, &PlanDiff::connections}) {
      std::vector<std::string> forth;
      std::vector<std::string> mirrored;
      for (const Change& c : there.*list)
        forth.push_back(fmt::format("{} {} {} {} {}", c.kind, c.what, c.before, c.after, c.things.size()));
      for (const Change& c : back.*list)
        mirrored.push_back(fmt::format("{} {} {} {} {}", c.kind, c.what, c.after, c.before, c.things.size()));
      std::sort(forth.begin(), forth.end());
      std::sort(mirrored.begin(), mirrored.end());
      RC_ASSERT(forth.size() == mirrored.size());
      // The other lists name NETs and relays, by the names that A has for them.
      if (list == &PlanDiff::machine || list == &PlanDiff::links || list == &PlanDiff::paths)
        RC_ASSERT(forth == mirrored);
    }
  }));
}

TEST(Corpus, EveryPlanFileIsReadOrRefused) {
  const Replayed replayed = replayCorpus("plan_file", feedPlanFile);
  EXPECT_GE(replayed.accepted, 5);
  EXPECT_GE(replayed.refused, 10);
}

}  // namespace
}  // namespace xylem::diff
