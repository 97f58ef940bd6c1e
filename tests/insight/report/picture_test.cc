// The facts of pictures equal those of the plan, and channels take of links what NCCL's search takes.

#include "insight/report/picture.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "insight/report/draw_support.h"
#include "planner/connect/rings.h"
#include "planner/connect/trees.h"
#include "planner/search/channel_segments.h"
#include "planner/tuning/choice.h"
#include "planner_support/any_machine.h"

namespace xylem::report {
namespace {

using namespace testing;  // NOLINT: pictures and machines
using ::testing::HasSubstr;

const PictureGraph& ringOfHost(const Picture& picture) { return picture.hosts.at(0).graphs.at(0); }

// By hand: one ring of 10 GB/s goes over the CPUs' 10 GB/s once each way. Between GPUs of one CPU but
// different switches it takes 6/5 of that of the PCI links, as the CPU is Intel's.
TEST(Picture, CountsPciThroughAnIntelCpuAsNcclDoes) {
  const Picture picture = pictureOf("a40x8-pcie", 1);
  const HostPicture& host = picture.hosts.at(0);
  const PictureGraph& ring = ringOfHost(picture);
  ASSERT_EQ(ring.channels.size(), 1u);
  EXPECT_FLOAT_EQ(usedBetween(host, ring, "CPU 0", "CPU 1", topology::LinkType::kSys), 10);
  EXPECT_FLOAT_EQ(usedBetween(host, ring, "CPU 1", "CPU 0", topology::LinkType::kSys), 10);
  EXPECT_FLOAT_EQ(usedBetween(host, ring, "GPU 0", "switch 0000:10:00.0", topology::LinkType::kPci), 10);
  EXPECT_FLOAT_EQ(usedBetween(host, ring, "GPU 1", "switch 0000:10:00.0", topology::LinkType::kPci), 12);
}

TEST(Picture, AnNvlinkRingLeavesPciAlone) {
  const Picture picture = pictureOf("dgxh100", 1);
  const HostPicture& host = picture.hosts.at(0);
  const PictureGraph& ring = ringOfHost(picture);
  const float each = ring.bwIntra * static_cast<float>(ring.channels.size());
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string name = "GPU " + std::to_string(gpu);
    EXPECT_FLOAT_EQ(usedBetween(host, ring, name, "NVSwitch", topology::LinkType::kNvl), each);
    EXPECT_FLOAT_EQ(usedBetween(host, ring, "NVSwitch", name, topology::LinkType::kNvl), each);
  }
  for (std::size_t i = 0; i < host.links.size(); ++i)
    if (host.links[i].type != topology::LinkType::kNvl) {
      EXPECT_EQ(ring.used[i][0] + ring.used[i][1], 0) << i;
    }
}

// A job of one host uses no NICs: they are in the picture, and said to be idle.
TEST(Picture, ShowsWhatTheJobDoesNotUse) {
  for (int hosts : {1, 2}) {
    const Picture picture = pictureOf("dgxh100", hosts);
    const HostPicture& host = picture.hosts.at(0);
    const topology::NodeId net = nodeNamed(host, "NET 3");
    ASSERT_NE(net, topology::kNoNode);
    EXPECT_EQ(host.nodes[static_cast<std::size_t>(net)].used, hosts == 2);
    EXPECT_EQ(host.nodes[static_cast<std::size_t>(nodeNamed(host, "NIC 0000:18:00.0"))].used, hosts == 2);
    EXPECT_EQ(host.reach.columns.size(), hosts == 2 ? 16u : 8u);
    EXPECT_THAT(host.nodes[0].source.element, HasSubstr("<gpu dev=\"0\""));
    EXPECT_GT(host.nodes[0].source.line, 0);
  }
}

// Checks that the picture's loads account for the bandwidth that the search leaves free.
void expectSearchAccount(const plan::Plan& plan, const HostPicture& drawn, const PictureGraph& graph) {
  const plan::HostPlan& host = plan.hostOf(drawn.rank);
  const paths::Locality locality(host.system(), host.paths.paths);
  search::SearchSpace space(host.system(), host.paths.paths, locality);
  const search::ChannelGraph& searched = host.graphs[graph.kind];
  const search::ChannelLoads loads(space, searched);
  bool fits = true;
  for (int c = 0; c < searched.nChannels; ++c)
    for (const search::ChannelSegment& leg : search::segmentsOf(space, searched, c))
      fits = space.take(*leg.route, loads.of(leg.portion)) && fits;
  RC_ASSERT(fits || graph.fallback);
  if (!fits) return;
  for (std::size_t i = 0; i < drawn.links.size(); ++i)
    for (std::size_t lane = 0; lane < 2; ++lane)
      RC_ASSERT(graph.used[i][lane] <= drawn.links[i].bandwidth[lane] + 0.01f);
  double taken = 0, told = 0;
  for (topology::LinkId link = 0; link < static_cast<topology::LinkId>(host.system().links().size()); ++link)
    taken += host.system().link(link).bandwidth - space.free().of(link);
  for (const auto& lanes : graph.used) told += lanes[0] + lanes[1];
  RC_ASSERT(std::abs(taken - told) < 0.01 * (1 + static_cast<double>(drawn.links.size())));
}

TEST(Picture, NodesOfOneHostUseItTogether) {
  const why::Inquiry inquiry = inquiryInto("uplink-x8", 2);
  const Picture picture = drawPicture(inquiry, {.title = "parts", .answers = false});
  EXPECT_EQ(picture.summary, "16 ranks on 2 hosts (4 nodes for NCCL), 2 channels");
  ASSERT_EQ(picture.hosts.size(), 2u);
  for (const HostPicture& host : picture.hosts) {
    int here = 0, elsewhere = 0;
    for (const PictureNode& node : host.nodes) {
      if (!node.label.starts_with("GPU ")) continue;
      EXPECT_TRUE(node.used) << node.label;
      (node.elsewhere ? elsewhere : here) += 1;
    }
    EXPECT_EQ(here, 4);
    EXPECT_EQ(elsewhere, 4);
  }
}

TEST(Picture, TakesOfEveryLinkWhatTheSearchTakes) {
  EXPECT_TRUE(rc::check("of any machine", [] {
    const std::string text = anyMachine();
    const why::Inquiry inquiry(
        plan::identicalHosts(topology::parseTopology(text, "any.xml"), *rc::gen::inRange(1, 3)),
        Settings::fromPairs({}));
    const Picture picture = drawPicture(inquiry, {.title = "any", .answers = false});
    for (const HostPicture& host : picture.hosts)
      for (const PictureGraph& graph : host.graphs) expectSearchAccount(inquiry.plan(), host, graph);
  }));
}

TEST(Picture, LegsFollowEachOtherFromNodeToNode) {
  for (const char* machine : {"dgxh100", "a40x8-pcie", "gb200x4", "summit", "dgx1v"})
    for (int hosts : {1, 2}) {
      const Picture picture = pictureOf(machine, hosts);
      for (const auto& legs : ringOfHost(picture).channels) {
        for (std::size_t i = 0; i + 1 < legs.size(); ++i) EXPECT_EQ(legs[i].to, legs[i + 1].from) << machine;
        if (hosts == 1) {
          EXPECT_EQ(legs.back().to, legs.front().from) << machine;
        }
        for (const PictureLeg& leg : legs) {
          topology::NodeId at = leg.from;
          for (const LaneOfLink& hop : leg.hops) {
            const PictureLink& link = picture.hosts[0].links[static_cast<std::size_t>(hop.link)];
            EXPECT_EQ(hop.lane == 0 ? link.a : link.b, at) << machine;
            at = hop.lane == 0 ? link.b : link.a;
          }
          EXPECT_EQ(at, leg.to) << machine;
        }
      }
    }
}

// Every GPU with the NVSwitch, the head twice; the head to its NET and back.
TEST(Picture, NvlsChannelsLoadTheSwitch) {
  plan::PlanRequest request = plan::identicalHosts(topology::readTopology(zooFile("dgxh100")), 2);
  request.offered.nvls = true;
  const Picture picture =
      drawPicture(why::Inquiry(request, Settings::fromPairs({})), {.title = "nvls", .answers = false});
  const auto nvls =
      std::find_if(picture.hosts[0].graphs.begin(), picture.hosts[0].graphs.end(),
                   [](const PictureGraph& graph) { return graph.kind == search::GraphKind::kNvls; });
  ASSERT_NE(nvls, picture.hosts[0].graphs.end());
  ASSERT_FALSE(nvls->channels.empty());
  EXPECT_EQ(nvls->channels[0].size(), 18u);
  EXPECT_FLOAT_EQ(usedBetween(picture.hosts[0], *nvls, "GPU 0", "NVSwitch", topology::LinkType::kNvl),
                  nvls->bwIntra * static_cast<float>(nvls->channels.size() + 1));
}

// `xylem why channels` names the same ones.
TEST(Picture, NamesTheLinksThatAreFull) {
  const Picture picture = pictureOf("dgxh100", 2);
  const PictureGraph& ring = ringOfHost(picture);
  ASSERT_FALSE(ring.full.empty());
  for (const FullLane& full : ring.full) {
    const PictureLink& link = picture.hosts[0].links[static_cast<std::size_t>(full.lane.link)];
    const auto lane = static_cast<std::size_t>(full.lane.lane);
    EXPECT_LT(full.left, full.wanted);
    EXPECT_NEAR(link.bandwidth[lane] - ring.used[static_cast<std::size_t>(full.lane.link)][lane], full.left,
                0.01);
  }
}

TEST(Reach, SaysTheRulesThatDecided) {
  // Newer rules prefer NICs between the sockets, also in a job of one host.
  const Picture picture = pictureOf("a40x8-pcie", 1, {{"XYLEM_NCCL", "2.25.1"}});
  const ReachMatrix& reach = picture.hosts.at(0).reach;
  ASSERT_EQ(reach.cells.size(), reach.rows.size() * reach.columns.size());
  EXPECT_EQ(reach.cells[0].way, "");
  EXPECT_EQ(reach.cells[1].way, "P2P");
  EXPECT_TRUE(reach.cells[1].direct);
  const ReachCell& far = reach.cells[5];
  EXPECT_EQ(far.way, "SHM");
  EXPECT_FALSE(far.direct);
  EXPECT_EQ(far.type, paths::PathType::kSys);
  EXPECT_EQ(far.reasons.at(0).variable, Setting::kP2pLevel);
  EXPECT_THAT(far.reasons.at(0).text, HasSubstr("SYS"));
}

// In a job of two hosts there are NICs, and those are the better way between far GPUs.
TEST(Reach, TellsOfNics) {
  const Picture picture = pictureOf("a40x8-pcie", 2);
  const ReachMatrix& reach = picture.hosts.at(0).reach;
  EXPECT_EQ(reach.cells.at(5).way, "NET");
  EXPECT_EQ(reach.cells.at(5).reasons.back().rule, "net-is-better");
  EXPECT_EQ(reach.cells.at(8).way, "GDR");
  const ReachCell& far = reach.cells.at(9);
  EXPECT_EQ(far.way, "host");
  EXPECT_EQ(far.reasons.at(0).variable, Setting::kNetGdrLevel);
}

TEST(Reach, FollowsTheSettings) {
  const Picture picture = pictureOf("a40x8-pcie", 1, {{"NCCL_P2P_LEVEL", "SYS"}, {"XYLEM_NCCL", "2.25.1"}});
  for (const ReachCell& cell : picture.hosts.at(0).reach.cells)
    if (!cell.way.empty()) {
      EXPECT_EQ(cell.way, "P2P");
    }
  EXPECT_EQ(picture.settings.size(), 1u);
}

TEST(JobPicture, HasTheRingsAndTreesOfThePlan) {
  const why::Inquiry inquiry = inquiryInto("dgxh100", 4);
  const connect::Connections& c = inquiry.plan().connections;
  const PictureJob job = drawPicture(inquiry, {.title = "", .answers = false}).job;
  std::vector<int> ringOfChannel(static_cast<std::size_t>(c.nChannels()), -1);
  for (const PictureRing& ring : job.rings)
    for (int channel : ring.channels) {
      EXPECT_EQ(ring.ranks, connect::ringOf(c, channel));
      ringOfChannel[static_cast<std::size_t>(channel)] = 0;
    }
  EXPECT_THAT(ringOfChannel, ::testing::Each(0));
  std::size_t channels = 0;
  for (const PictureTree& tree : job.trees)
    for (int channel : tree.channels) {
      ++channels;
      int roots = 0;
      for (const TreePlaceOfRank& place : tree.ranks) {
        EXPECT_EQ(place.up, connect::treeOf(c, place.rank, channel).up);
        roots += place.up < 0;
        EXPECT_EQ(place.depth, place.up < 0 ? 0 : tree.ranks[static_cast<std::size_t>(place.up)].depth + 1);
      }
      EXPECT_EQ(roots, 1);
    }
  EXPECT_EQ(channels, static_cast<std::size_t>(c.nChannels()));
  EXPECT_EQ(job.crossings.size(), job.rings.size() * 4);
  for (const RingCrossing& crossing : job.crossings) {
    EXPECT_THAT(crossing.fromNet, HasSubstr("NET"));
    EXPECT_TRUE(crossing.fromGdr);
  }
}

TEST(JobPicture, LeavesOutJobsTooLargeToDraw) {
  const PictureJob job = pictureOf("dgxh100", 65).job;
  EXPECT_TRUE(job.leftOut);
  EXPECT_EQ(job.ranks, 520);
  EXPECT_TRUE(job.rings.empty());
}

TEST(Tuning, ARankAloneTakesNoTime) {
  const why::Inquiry inquiry = inquiryInto("gpu1-nonic", 1);
  for (const CollectiveCurves& one : drawPicture(inquiry, {.title = "alone", .answers = false}).tuning)
    for (const CurveStretch& stretch : one.stretches) {
      EXPECT_EQ(stretch.firstTime, 0.0F);  // a number, which scripts can print
      EXPECT_EQ(stretch.lastTime, 0.0F);
    }
}

TEST(Tuning, CurvesMeetTheChoiceAtEverySize) {
  const why::Inquiry inquiry = inquiryInto("dgxh100", 2);
  const Picture picture = drawPicture(inquiry, {.title = "", .answers = false});
  ASSERT_EQ(picture.tuning.size(), 5u);
  for (const CollectiveCurves& one : picture.tuning) {
    EXPECT_EQ(one.stretches.front().first, 1u);
    for (std::size_t i = 0; i + 1 < one.stretches.size(); ++i) {
      EXPECT_EQ(one.stretches[i].last + 1, one.stretches[i + 1].first);
      EXPECT_NE(one.stretches[i].curve, one.stretches[i + 1].curve);
    }
    for (std::size_t i = 0; i < picture.sizes.size(); ++i) {
      const tuning::Choice choice =
          tuning::choose(inquiry.plan().tuning[0], {.collective = one.collective, .bytes = picture.sizes[i]});
      const auto stretch = std::find_if(one.stretches.begin(), one.stretches.end(),
                                        [&](const CurveStretch& s) { return picture.sizes[i] <= s.last; });
      ASSERT_GE(stretch->curve, 0);
      const Curve& curve = one.curves[static_cast<std::size_t>(stretch->curve)];
      EXPECT_EQ(curve.name,
                std::string(name(choice.best()->algorithm)) + "/" + name(choice.best()->protocol));
      for (const Curve& other : one.curves)
        if (other.points[i].time > 0) {
          EXPECT_GE(other.points[i].time, curve.points[i].time);
        }
    }
  }
}

}  // namespace
}  // namespace xylem::report
