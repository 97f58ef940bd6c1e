// Edits change what they say, and refuse what they cannot do. Repairs find what a misconfigured machine
// lacks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "fuzz/edit_input.h"
#include "fuzz/replay.h"
#include "insight/lint/lint.h"
#include "insight/whatif/devices.h"
#include "insight/whatif/edit.h"
#include "insight/whatif/pairing.h"
#include "insight/whatif/repair.h"
#include "planner_support/any_machine.h"
#include "support/sanitizers.h"

namespace xylem::whatif {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kZoo = std::string(XYLEM_SOURCE_DIR) + "/topologies/";

topology::Document host(const std::string& name) {
  return topology::completeForJob(topology::readTopology(kZoo + name + ".xml"), *testing::rules225());
}

Edited edited(const topology::Document& document, const std::vector<std::string>& texts,
              const Settings& settings = {}) {
  std::vector<Edit> edits;
  for (const std::string& text : texts) edits.push_back(parseEdit(text));
  return applyEdits({document, settings}, edits);
}

topology::System systemAfter(const topology::Document& document, const std::vector<std::string>& texts) {
  return topology::buildSystem(
      topology::completeForJob(edited(document, texts).document, *testing::rules225()), testing::rules225());
}

std::string refusal(const topology::Document& document, const std::string& text) {
  try {
    edited(document, {text});
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

// The bandwidth in GB/s of the first link from `from` to a node of `type`; 0 if there is none.
float bandwidthTo(const topology::System& system, topology::NodeId from, topology::NodeType type) {
  for (const topology::Link& link : system.links(from))
    if (system.type(link.to) == type) return link.bandwidth;
  return 0;
}

TEST(Edit, EveryInputIsReadOrRefused) {
  const Replayed replayed = replayCorpus("edit", feedEdits);
  EXPECT_GE(replayed.accepted, 5);
  EXPECT_GE(replayed.refused, 4);
}

TEST(Edit, RefusesWithWhatWouldDo) {
  const topology::Document machine = host("dgxh100");
  EXPECT_THAT(refusal(machine, "remve net1"), HasSubstr("did you mean remove?"));
  EXPECT_THAT(refusal(machine, "remove"), HasSubstr("`remove DEVICE`"));
  EXPECT_THAT(refusal(machine, "remove net99"),
              AllOf(HasSubstr("`net99`"), HasSubstr("gpu0"), HasSubstr("net0")));
  EXPECT_THAT(refusal(machine, "gdr mlx5_O on"), HasSubstr("did you mean mlx5_0?"));
  EXPECT_THAT(refusal(machine, "move gpu0 numa7"), HasSubstr("numa0, numa1"));
  EXPECT_THAT(refusal(machine, "speed gpu0 17"), HasSubstr("2.5, 5, 8, 16, 32 or 64"));
  EXPECT_THAT(refusal(machine, "set NCCL_CROS_NIC=1"), HasSubstr("NCCL_CROSS_NIC"));
  EXPECT_THAT(refusal(machine, "set NCCL_CROSS_NIC=9"), HasSubstr("0 to 2"));
  EXPECT_THAT(refusal(machine, "nvlink gpu0 gpu0 x1"), HasSubstr("two GPUs"));
  EXPECT_THAT(refusal(machine, "remove gpus"), HasSubstr("no GPU left"));
}

TEST(Edit, RemovesDevices) {
  const topology::Document machine = host("dgxh100");
  const topology::System system = systemAfter(machine, {"remove gpu3", "remove net1"});
  EXPECT_EQ(system.count(topology::NodeType::kGpu), 7);
  EXPECT_EQ(system.count(topology::NodeType::kNet),
            topology::buildSystem(machine, testing::rules225()).count(topology::NodeType::kNet) - 1);
  // The GPUs after gpu3 move up by one rank.
  EXPECT_EQ(system.gpu(system.gpuOfRank(3)).dev, 4);
}

TEST(Edit, SetsNvlinksAtBothEnds) {
  const topology::Document mesh = topology::completeForJob(
      topology::parseTopology(testing::fourGpusMesh(), "mesh.xml"), *testing::rules225());
  const auto nvlink = [&](const topology::System& system, int a, int b) {
    const topology::LinkId link =
        system.findLink(system.gpuOfRank(a), system.gpuOfRank(b), topology::LinkType::kNvl);
    return link == topology::kNoLink ? 0.0f : system.link(link).bandwidth;
  };
  const topology::System less = systemAfter(mesh, {"nvlink gpu0 gpu3 x2", "nvlink gpu1 dev2 x0"});
  EXPECT_EQ(nvlink(less, 0, 3), 40.0f);
  EXPECT_EQ(nvlink(less, 3, 0), 40.0f);
  EXPECT_EQ(nvlink(less, 1, 2), 0.0f);
  EXPECT_EQ(nvlink(less, 2, 1), 0.0f);
  EXPECT_EQ(nvlink(less, 0, 1), 20.0f);
  const topology::Document switched = host("dgxa100");
  const topology::System half = systemAfter(switched, {"nvlink gpu5 nvswitch x6"});
  EXPECT_EQ(bandwidthTo(half, half.gpuOfRank(5), topology::NodeType::kNvs), 120.0f);
  EXPECT_EQ(bandwidthTo(half, half.gpuOfRank(4), topology::NodeType::kNvs), 240.0f);
}

TEST(Edit, MovesCards) {
  const topology::Document machine = host("misconfigured/vm-nics-without-numa");
  const auto farFromGpus = [](const topology::Document& document) {
    int far = 0;
    const Devices devices(document);
    for (const topology::ElementId net : devices.nets()) {
      bool near = false;
      for (const topology::ElementId gpu : devices.gpus())
        near |= devices.placeOf(gpu) == devices.placeOf(net);
      far += near ? 0 : 1;
    }
    return far;
  };
  EXPECT_EQ(farFromGpus(machine), 8);
  EXPECT_EQ(farFromGpus(edited(machine, {"move net2 beside gpu5"}).document), 7);
  EXPECT_EQ(farFromGpus(edited(machine, {"move net2 switch 0000:1a:00.0"}).document), 7);
  EXPECT_EQ(farFromGpus(edited(machine, {"move net2 numa0"}).document), 8);
  EXPECT_EQ(farFromGpus(edited(machine, {"move nets beside gpus"}).document), 0);
}

TEST(Edit, ChangesLinksAndCards) {
  const topology::Document machine = host("misconfigured/vm-nics-without-gdr");
  const topology::System system =
      systemAfter(machine, {"width gpu0 x8", "speed gpu1 16.0 GT/s", "gdr net2 on", "netspeed net3 200G"});
  EXPECT_EQ(bandwidthTo(system, system.gpuOfRank(0), topology::NodeType::kPci), 24.0f);
  EXPECT_EQ(bandwidthTo(system, system.gpuOfRank(1), topology::NodeType::kPci), 24.0f);
  EXPECT_FALSE(system.net(system.node(topology::NodeType::kNet, 1)).gdr);
  EXPECT_TRUE(system.net(system.node(topology::NodeType::kNet, 2)).gdr);
  EXPECT_EQ(system.net(system.node(topology::NodeType::kNet, 3)).bandwidth, 25.0f);
}

TEST(Edit, SetsAndUnsetsVariables) {
  const Settings settings = Settings::fromPairs({{"NCCL_ALGO", "Ring"}, {"NCCL_CROSS_NIC", "0"}});
  const Edited after = edited(host("dgxh100"), {"set NCCL_CROSS_NIC=1", "unset NCCL_ALGO"}, settings);
  EXPECT_EQ(after.settings.integer(Setting::kCrossNic), 1);
  EXPECT_FALSE(after.settings.isSet(Setting::kAlgo));
}

// The switch that holds the GPU, if it holds a NIC, too; else nothing.
std::string sharedSwitch(const topology::Document& machine, const std::string& gpu, const std::string& net) {
  const Devices devices(machine);
  const auto place = [&](const std::string& word) {
    return devices.placeOf(devices.named(word, Devices::kGpu | Devices::kNet, "test").front());
  };
  return place(gpu) == place(net) && machine[place(gpu)].name == "pci" ? devices.wordFor(place(gpu)) : "";
}

TEST(Edit, DevicesAreSpelledAsElsewhere) {
  const topology::Document machine = host("dgxh100");
  const std::string expected = topology::writeTopology(edited(machine, {"remove net1"}).document);
  for (const char* edit : {"remove NET 1", "remove Net1", "remove nic 1"})
    EXPECT_EQ(topology::writeTopology(edited(machine, {edit}).document), expected) << edit;
  EXPECT_THROW(edited(machine, {"remove net1 2"}), InputError);
}

TEST(Edit, PairsNetsWithGpusBelowSwitches) {
  const topology::Document flat = host("misconfigured/vm-flat");
  EXPECT_TRUE(isFlat(flat));
  EXPECT_FALSE(isFlat(host("dgxh100")));
  EXPECT_FALSE(isFlat(host("gpu1-nic1")));
  EXPECT_TRUE(showsPairs(host("dgxh100")));
  // Too few devices to be flat, and no switch either.
  EXPECT_FALSE(showsPairs(host("seed-a40x2")));
  EXPECT_FALSE(isFlat(host("seed-a40x2")));
  const topology::Document paired = edited(flat, {"pair nets with gpus"}).document;
  EXPECT_FALSE(isFlat(paired));
  std::set<std::string> switches;
  for (int i = 0; i < 8; ++i)
    switches.insert(sharedSwitch(paired, "gpu" + std::to_string(i), "net" + std::to_string(i)));
  EXPECT_EQ(switches.size(), 8u);
  EXPECT_FALSE(switches.contains(""));
  // One pair, crossed, and a switch of its own.
  const topology::Document one = edited(flat, {"pair net1 with gpu0", "add switch above gpu3"}).document;
  EXPECT_NE(sharedSwitch(one, "gpu0", "net1"), "");
  EXPECT_EQ(sharedSwitch(one, "gpu1", "net1"), "");
  EXPECT_EQ(Devices(one).switches().size(), 2u);
  // 4 NICs and 8 GPUs: two GPUs with each NIC.
  const topology::Document four =
      edited(flat, {"remove net1", "remove net3", "remove net5", "remove net7", "pair nets with gpus"})
          .document;
  EXPECT_NE(sharedSwitch(four, "gpu1", "net0"), "");
  EXPECT_EQ(sharedSwitch(four, "gpu0", "net0"), sharedSwitch(four, "gpu1", "net0"));
  EXPECT_NE(sharedSwitch(four, "gpu7", "net6"), "");
  EXPECT_THROW(edited(flat, {"pair gpu0 with gpu1"}), InputError);
  EXPECT_THROW(edited(flat, {"pair net0 beside gpu1"}), InputError);
  EXPECT_THROW(edited(flat, {"add switch gpu1"}), InputError);
}

TEST(Edit, LeavesMachinesThatLintAcceptsAsSuch) {
  EXPECT_TRUE(rc::check([] {
    const topology::Document machine = topology::completeForJob(
        topology::parseTopology(testing::anyMachine(), "any.xml"), *testing::rules225());
    const Devices devices(machine);
    std::vector<std::string> words = {"gpus"};
    for (const topology::ElementId gpu : devices.gpus()) words.push_back(devices.wordFor(gpu));
    for (const topology::ElementId net : devices.nets()) words.push_back(devices.wordFor(net));
    std::vector<std::string> edits;
    const int count = *rc::gen::inRange(1, 5);
    for (int i = 0; i < count; ++i) {
      const std::string device = *rc::gen::elementOf(words);
      edits.push_back(*rc::gen::element<std::string>("width " + device + " x4", "speed " + device + " 2.5",
                                                     "gdr " + device + " off", "move " + device + " numa0",
                                                     "move " + device + " beside gpu0", "nvlink gpu0 gpus x2",
                                                     "nvlink gpus nvswitch x3"));
    }
    const topology::Document after = edited(machine, edits).document;
    RC_ASSERT(lint::lintTopology(topology::writeTopology(after), "after").count(lint::Severity::kError) == 0);
    const topology::System before = topology::buildSystem(machine, testing::rules225());
    const topology::System system =
        topology::buildSystem(topology::completeForJob(after, *testing::rules225()), testing::rules225());
    RC_ASSERT(system.count(topology::NodeType::kGpu) == before.count(topology::NodeType::kGpu));
    RC_ASSERT(system.count(topology::NodeType::kNet) == before.count(topology::NodeType::kNet));
    for (int rank = 0; rank < system.count(topology::NodeType::kGpu); ++rank)
      RC_ASSERT(system.gpu(system.gpuOfRank(rank)).dev == before.gpu(before.gpuOfRank(rank)).dev);
  }));
}

std::vector<Repair> repairsOf(const topology::Document& machine, int hosts, const Settings& settings,
                              Scores* before = nullptr) {
  RepairSearch search(plan::identicalHosts(machine, hosts), settings);
  while (search.next()) {
  }
  EXPECT_GT(search.tried(), 5);
  if (before != nullptr) *before = search.scores();
  return search.found();
}

struct Misconfigured {
  const char* machine;
  const char* edit;  // the repair that has to come first
  double gain;       // the least factor by which the rings' bandwidth grows
  int netsAfter;
};

TEST(Repair, FindsWhatAMisconfiguredMachineLacks) {
  const Misconfigured cases[] = {
      {"misconfigured/vm-nics-without-numa", "move nets beside gpus", 10, 8},
      {"misconfigured/vm-2-of-8-nics", "move nets beside gpus", 4, 8},
      {"misconfigured/vm-nics-without-gdr", "gdr nets on", 2, 8},
      {"misconfigured/vm-shared-guids", "guid nets own", 2, 8},
      {"misconfigured/narrow-nic", "width net5 x16", 1.1, 8},
      {"misconfigured/vm-flat", "pair nets with gpus", 1.1, 8},
  };
  for (std::size_t i = 0; i < std::size(cases); i += testing::kMachineStride) {
    const Misconfigured& c = cases[i];
    SCOPED_TRACE(c.machine);
    Scores before;
    const std::vector<Repair> found = repairsOf(host(c.machine), 2, testing::settings225(), &before);
    ASSERT_THAT(found, Not(IsEmpty()));
    EXPECT_EQ(found[0].candidate.edit, c.edit);
    EXPECT_GE(found[0].after[1], before[1] * c.gain);
    EXPECT_EQ(found[0].netsUsed, c.netsAfter);
    // The repair keeps its promise when it is applied by itself.
    const plan::Plan plan = plan::planJob(plan::identicalHosts(edited(host(c.machine), {c.edit}).document, 2),
                                          testing::settings225());
    EXPECT_EQ(scoresOf(plan), found[0].after);
  }
}

// The rule for AMD's sockets is slower than the link of Turin, which NCCL takes from a graph file.
TEST(Repair, ProposesTheRealLinkOfKnownCpus) {
  const auto edits = [](const topology::Document& machine) {
    std::vector<std::string> found;
    for (const RepairCandidate& candidate : repairCandidates(machine, Settings(), {}))
      if (candidate.edit.starts_with("bandwidth")) found.push_back(candidate.edit);
    return found;
  };
  EXPECT_THAT(edits(host("turin-rtxpro6000x8-cx8")), ElementsAre("bandwidth cpus 32"));
  EXPECT_THAT(edits(host("l40sx8-pcie")), ElementsAre("bandwidth cpus 32")) << "Genoa, in NCCL's numbers";
  EXPECT_THAT(edits(host("dgxa100")), IsEmpty()) << "Rome";
  EXPECT_THAT(edits(host("dgxh100")), IsEmpty()) << "Intel";
  const Edited known = edited(host("l40sx8-pcie"), {"bandwidth cpus 32"});
  EXPECT_THAT(edits(known.document), IsEmpty());
  const std::vector<Repair> found = repairsOf(host("l40sx8-pcie"), 1, Settings());
  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_EQ(found[0].candidate.edit, "bandwidth cpus 32");
  EXPECT_THAT(found[0].candidate.todo, HasSubstr("xylem optimize FILE --link CPU-CPU=32"));
}

TEST(Repair, ProposesTheSpeedThatPortsShouldHave) {
  const auto edits = [](const topology::Document& machine) {
    std::vector<std::string> found;
    for (const RepairCandidate& candidate : repairCandidates(machine, Settings(), {}))
      if (candidate.edit.starts_with("netspeed")) found.push_back(candidate.edit);
    return found;
  };
  EXPECT_THAT(edits(host("dgxh100")), IsEmpty());
  const topology::Document slow =
      edited(host("dgxh100"), {"netspeed net3 100G", "netspeed net5 200G"}).document;
  EXPECT_THAT(edits(slow), ElementsAre("netspeed net3 400G", "netspeed net5 400G", "netspeed nets 400G"));
  const topology::Document inGigabits = edited(host("dgxh100-4nic"), {"netspeed nets 400"}).document;
  EXPECT_THAT(edits(inGigabits), Contains("netspeed nets 400G"));
  const std::vector<Repair> found = repairsOf(inGigabits, 2, Settings());
  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_EQ(found[0].candidate.edit, "netspeed nets 400G");
  EXPECT_THAT(found[0].candidate.todo, HasSubstr("in Mb/s"));
}

TEST(Repair, FindsVariablesThatShouldNotBeSet) {
  const Settings settings = Settings::fromPairs({{"NCCL_MAX_NCHANNELS", "1"}, {"NCCL_P2P_DISABLE", "1"}});
  const std::vector<Repair> found = repairsOf(host("dgxa100"), 2, settings);
  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_EQ(found[0].candidate.edit, "unset NCCL_P2P_DISABLE");
}

TEST(Repair, EveryRepairIsBetterAndTheBestComesFirst) {
  Scores before;
  const std::vector<Repair> found = repairsOf(host("seed-a40x2"), 2, {}, &before);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_GT(found[i].after[0] + found[i].after[1], before[0] + before[1]) << found[i].candidate.edit;
    if (i > 0) {
      EXPECT_GE(found[i - 1].after[0] + 0.06, found[i].after[0]);
    }
  }
}

TEST(Repair, SaysHowNetsStand) {
  const plan::Plan plan =
      plan::planJob(plan::identicalHosts(host("misconfigured/vm-nics-without-numa"), 2), {});
  const HostNets nets(plan);
  const std::vector<NetState>& states = nets.states();
  ASSERT_THAT(states, SizeIs(8));
  for (const NetState& state : states) {
    EXPECT_EQ(state.type, paths::PathType::kSys);
    EXPECT_THAT(state.gdr, HasSubstr("SYS"));
    const topology::Link& narrowest = nets.system().link(state.narrowest);
    EXPECT_EQ(narrowest.type, topology::LinkType::kSys);
    EXPECT_EQ(state.sharers, 8);
  }
}

// The host is two nodes, with a NIC for each.
TEST(Repair, TakesAHostThatIsSeveralNodesAsOneMachine) {
  const plan::Plan plan = plan::planJob(plan::identicalHosts(host("uplink-x8"), 2), {});
  ASSERT_EQ(plan.connections.nodes.count(), 4);
  EXPECT_EQ(netsUsed(plan), 2);
  const HostNets nets(plan);
  ASSERT_THAT(nets.states(), SizeIs(2));
  for (const NetState& state : nets.states()) {
    EXPECT_TRUE(state.used);
    EXPECT_EQ(state.type, paths::PathType::kPix);
    EXPECT_THAT(state.gdr, IsEmpty());
  }
}

TEST(Repair, SaysWhichNetsShare) {
  const plan::Plan two = plan::planJob(plan::identicalHosts(host("misconfigured/vm-2-of-8-nics"), 2), {});
  EXPECT_EQ(netsUsed(two), 2);
  const HostNets netsOfTwo(two);
  for (const NetState& state : netsOfTwo.states()) EXPECT_EQ(state.sharers, 4);
  const plan::Plan twins = plan::planJob(plan::identicalHosts(host("misconfigured/vm-shared-guids"), 2), {});
  const HostNets nets(twins);
  const std::vector<NetState>& states = nets.states();
  EXPECT_EQ(states[0].twin, topology::kNoNode);
  EXPECT_EQ(states[3].twin, states[0].net);
  EXPECT_EQ(states[4].twin, topology::kNoNode);
  EXPECT_EQ(states[7].twin, states[4].net);
  for (const NetState& state : states) EXPECT_THAT(state.gdr, IsEmpty());
}

TEST(Repair, JsonSaysTheSame) {
  RepairSearch search(plan::identicalHosts(host("misconfigured/narrow-nic"), 2), {});
  while (search.next()) {
  }
  const auto json = toJson(search, "narrow");
  EXPECT_EQ(json["format"], "xylem-repair-1");
  EXPECT_EQ(json["found"].size(), search.found().size());
  EXPECT_EQ(json["found"][0]["edit"], search.found()[0].candidate.edit);
  EXPECT_EQ(json["nets"].size(), 8u);
  EXPECT_TRUE(json["scores"].contains("ringGBps"));
}

}  // namespace
}  // namespace xylem::whatif
