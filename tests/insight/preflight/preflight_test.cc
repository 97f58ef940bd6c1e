// Jobs whose ranks would decide differently: preflight finds the exact sizes, the values to blame, and
// settings that avoid it.

#include "insight/preflight/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "planner/plan/agreement.h"
#include "planner_support/any_machine.h"
#include "planner_support/rules.h"

namespace xylem::preflight {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

plan::HostRequest host(const std::string& file, int count = 1) {
  const std::string path = std::string(XYLEM_SOURCE_DIR) + "/topologies/" + file;
  return {std::make_shared<const topology::Document>(topology::readTopology(path)), {}, count};
}

plan::PlanRequest jobOf(std::vector<plan::HostRequest> hosts, search::GraphOptions offered = {}) {
  plan::PlanRequest request;
  request.hosts = std::move(hosts);
  request.hostsListed = true;
  request.offered = offered;
  return request;
}

// True if any two views decide differently.
bool chooseDifferently(const std::vector<tuning::TuningModel>& tuning, Collective collective,
                       std::uint64_t bytes) {
  const tuning::Operation operation{.collective = collective, .bytes = bytes};
  for (const tuning::TuningModel& model : tuning)
    if (tuning::pickOf(tuning::choose(model, operation)) !=
        tuning::pickOf(tuning::choose(tuning.front(), operation)))
      return true;
  return false;
}

const Cause* find(const std::vector<Cause>& causes, Unexchanged what) {
  for (const Cause& cause : causes)
    if (cause.what == what) return &cause;
  return nullptr;
}

TEST(Preflight, EqualHostsAreFine) {
  const plan::Plan plan = plan::planJob(jobOf({host("dgxh100.xml", 2)}), testing::settings225());
  const Preflight result = preflight(plan);
  EXPECT_TRUE(result.isFine());
  EXPECT_THAT(result.causes, IsEmpty());
  EXPECT_THAT(result.remarks, IsEmpty());
}

TEST(Preflight, NicsThatDifferAreRemarked) {
  const auto nics = [](const std::string& file) {
    const plan::PlanRequest request = jobOf({host("dgxh100.xml"), host(file)});
    for (const Remark& remark : preflight(plan::planJob(request, testing::settings225())).remarks)
      if (remark.what == Remarked::kNics) return remark.byView;
    return std::vector<std::string>{};
  };
  EXPECT_THAT(nics("dgxa100.xml"), ElementsAre("8 x 50.0 GB/s, InfiniBand", "8 x 25.0 GB/s, InfiniBand"));
  EXPECT_THAT(nics("pizdaint.xml"),
              ElementsAre("8 x 50.0 GB/s, InfiniBand", ::testing::EndsWith(", sockets")));
  EXPECT_THAT(nics("perlmutter.xml"),
              ElementsAre("8 x 50.0 GB/s, InfiniBand", "4 x 25.0 GB/s, RDMA over Ethernet"));
  EXPECT_THAT(nics("jeanzay-v100x4.xml"), ElementsAre("8 x 50.0 GB/s, InfiniBand", "4 x 12.5 GB/s, RDMA"));
}

// Hosts whose rings use their NICs differently: the usual cause of uneven load on the network.
TEST(Preflight, GraphsThatDifferAreComparedByKind) {
  const plan::PlanRequest request = jobOf({host("dgxh100.xml"), host("dgxh100-4nic.xml")});
  std::map<Remarked, Remark> remarks;
  for (const Remark& remark : preflight(plan::planJob(request, testing::settings225())).remarks)
    remarks[remark.what] = remark;
  ASSERT_TRUE(remarks.contains(Remarked::kRingNics));
  EXPECT_THAT(remarks.at(Remarked::kRingNics).byView,
              ElementsAre("8, 1 channel each, crossing", "4, 2 channels each"));
  ASSERT_TRUE(remarks.contains(Remarked::kRingPaths));
  EXPECT_THAT(remarks.at(Remarked::kRingPaths).byView, ElementsAre("NVL, PIX", "NVL, PXN"));
  EXPECT_EQ(remarks.at(Remarked::kRingPaths).job, "NVL, PXN");
}

TEST(Preflight, TreePatternsThatDifferHangAllReduce) {
  const plan::PlanRequest request = jobOf({host("dgxh100.xml"), host("dgxa100.xml")});
  const plan::Plan plan = plan::planJob(request, testing::settings225());
  const Preflight result = preflight(plan);
  ASSERT_FALSE(result.collectives.empty());
  EXPECT_THAT(result.setup, IsEmpty());
  EXPECT_THAT(result.transfers, IsEmpty());
  const CollectiveMismatch& first = result.collectives.front();
  EXPECT_EQ(first.first, 128u << 10);
  EXPECT_EQ(first.byView[0].algorithm, Algorithm::kRing);
  EXPECT_EQ(first.byView[1].algorithm, Algorithm::kTree);
  ASSERT_THAT(result.causes, SizeIs(1));
  EXPECT_EQ(result.causes[0].what, Unexchanged::kTreePattern);
  EXPECT_THAT(result.causes[0].byView, ElementsAre("TREE", "BALANCED_TREE"));
  EXPECT_THAT(result.causes[0].collectives, ElementsAre(Collective::kAllReduce));
  const RemedySearch search = findRemedies(request, testing::settings225(), plan);
  ASSERT_FALSE(search.found.empty());
  EXPECT_EQ(search.found.front().text(), "NCCL_ALGO=^Tree");
}

TEST(Preflight, FindsTheExactBounds) {
  const plan::Plan plan = plan::planJob(jobOf({host("dgxh100.xml"), host("dgxa100.xml"), host("dgx2.xml")}),
                                        testing::settings225());
  const Preflight result = preflight(plan);
  int checked = 0;
  for (const CollectiveMismatch& m : result.collectives) {
    if (m.operands != Operands::kSum) continue;
    EXPECT_TRUE(chooseDifferently(plan.tuning, m.collective, m.first)) << m.first;
    EXPECT_TRUE(chooseDifferently(plan.tuning, m.collective, m.last)) << m.last;
    const auto isInside = [&](std::uint64_t bytes) {
      for (const CollectiveMismatch& other : result.collectives)
        if (other.operands == Operands::kSum && other.collective == m.collective && other.first <= bytes &&
            bytes <= other.last)
          return true;
      return false;
    };
    EXPECT_EQ(chooseDifferently(plan.tuning, m.collective, m.first - 1), isInside(m.first - 1));
    EXPECT_EQ(chooseDifferently(plan.tuning, m.collective, m.last + 1), isInside(m.last + 1));
    ++checked;
  }
  EXPECT_GT(checked, 1);
}

TEST(Preflight, ChannelsOfNvlsKeepHostsFromConnecting) {
  const plan::PlanRequest request = jobOf({host("dgxh100.xml"), host("dgxb200.xml")}, {.nvls = true});
  const plan::Plan plan = plan::planJob(request, testing::settings225());
  const Preflight result = preflight(plan);
  EXPECT_THAT(result.setup, ElementsAre(Setup::kChannels, Setup::kNvlsChannels));
  EXPECT_FALSE(result.transfers.empty());
  const Cause* cause = find(result.causes, Unexchanged::kNvlsChannels);
  ASSERT_NE(cause, nullptr);
  EXPECT_THAT(cause->byView, ElementsAre("16", "32"));
  EXPECT_TRUE(cause->setup);
  const RemedySearch search = findRemedies(request, testing::settings225(), plan);
  ASSERT_FALSE(search.found.empty());
  EXPECT_EQ(search.found.front().text(), "NCCL_NVLS_NCHANNELS=16");
}

TEST(Preflight, HeadsOfCollnetMatter) {
  const plan::PlanRequest request =
      jobOf({host("dgxh100.xml", 2), host("dgxh100-4nic.xml")}, {.nvls = false, .collnet = true});
  const Settings settings = Settings::fromPairs({{"NCCL_COLLNET_ENABLE", "1"}});
  const plan::Plan plan = plan::planJob(request, settings);
  EXPECT_THAT(preflight(plan).setup, ElementsAre(Setup::kCollnetHeads));
  const RemedySearch search = findRemedies(request, settings, plan);
  ASSERT_FALSE(search.found.empty());
  EXPECT_EQ(search.found.front().text(), "NCCL_COLLNET_ENABLE=0");
}

TEST(Preflight, LatenciesOfNicsMoveEveryChoiceOfAProtocol) {
  const plan::PlanRequest request = jobOf({host("rand-016.xml"), host("dgxa100.xml")});
  const plan::Plan plan = plan::planJob(request, testing::settings225());
  const Preflight result = preflight(plan);
  const Cause* cause = find(result.causes, Unexchanged::kNetLatency);
  ASSERT_NE(cause, nullptr);
  EXPECT_THAT(cause->byView, ElementsAre("2.5 us", "0.0 us"));
  EXPECT_THAT(cause->collectives, Contains(Collective::kAllGather));
  const RemedySearch search = findRemedies(request, testing::settings225(), plan);
  ASSERT_FALSE(search.found.empty());
  for (const Remedy& remedy : search.found) {
    std::map<std::string, std::string> pairs(remedy.settings.begin(), remedy.settings.end());
    const plan::Plan again = plan::planJob(request, Settings::fromPairs(pairs));
    EXPECT_TRUE(preflight(again).isFine()) << remedy.text();
  }
}

TEST(Preflight, NvSwitchesDecideOnCollnetDirect) {
  const Settings settings = Settings::fromPairs({{"NCCL_COLLNET_ENABLE", "1"}});
  const plan::Plan plan = plan::planJob(
      jobOf({host("dgxh100.xml"), host("l40sx8-pcie.xml")}, {.nvls = false, .collnet = true}), settings);
  const Preflight result = preflight(plan);
  const Cause* cause = find(result.causes, Unexchanged::kNvSwitch);
  ASSERT_NE(cause, nullptr);
  EXPECT_THAT(cause->byView, ElementsAre("yes", "no"));
  EXPECT_THAT(cause->collectives, ElementsAre(Collective::kAllReduce));
}

TEST(Preflight, HostsWithoutNicsAreNamed) {
  const plan::Plan plan =
      plan::planJob(jobOf({host("gpu1-nonic.xml"), host("gpu1-nic1.xml")}), testing::settings225());
  const Preflight result = preflight(plan);
  EXPECT_FALSE(result.disagrees());
  EXPECT_FALSE(result.isFine());
  EXPECT_THAT(result.endsWithoutNic, ElementsAre(4, 0));
}

TEST(Preflight, AgreesWithTheSamplesOfThePlan) {
  const char* const files[] = {"dgxh100.xml", "dgxa100.xml", "dgx1v.xml", "l40sx8-pcie.xml", "rand-005.xml"};
  for (const char* a : files)
    for (const char* b : files) {
      const plan::Plan plan = plan::planJob(jobOf({host(a), host(b, 2)}), testing::settings225());
      const Preflight result = preflight(plan);
      for (Collective collective : kAllCollectives)
        for (std::uint64_t bytes : tuning::choiceSizes()) {
          const bool found = std::any_of(
              result.collectives.begin(), result.collectives.end(), [&](const CollectiveMismatch& m) {
                return m.collective == collective && m.operands == Operands::kSum && m.first <= bytes &&
                       bytes <= m.last;
              });
          EXPECT_EQ(found, chooseDifferently(plan.tuning, collective, bytes))
              << a << " " << b << " " << bytes;
        }
    }
}

TEST(ChoiceRanges, HoldTheChoiceOfEverySize) {
  EXPECT_TRUE(rc::check([] {
    const plan::Plan plan =
        plan::planJob(plan::identicalHosts(topology::parseTopology(testing::anyMachine(), "test.xml"),
                                           *rc::gen::inRange(1, 20)),
                      testing::settings225());
    tuning::Operation operation{.collective = *rc::gen::elementOf(kAllCollectives)};
    const std::vector<tuning::ChoiceRange> ranges = tuning::choiceRanges(plan.tuning.front(), operation);
    std::uint64_t next = 1;
    for (const tuning::ChoiceRange& range : ranges) {
      RC_ASSERT(range.first == next);
      next = range.last + 1;
      for (std::uint64_t bytes : {range.first, range.first + (range.last - range.first) / 3, range.last}) {
        operation.bytes = bytes;
        RC_ASSERT(tuning::pickOf(tuning::choose(plan.tuning.front(), operation)) == range.pick);
      }
    }
    RC_ASSERT(next == tuning::kMaxBytes + 1);
  }));
}

TEST(Preflight, SplitsOfTransfersAreConstantBetweenTheirBounds) {
  EXPECT_TRUE(rc::check([] {
    const TransferInput input{.channels = 1 << *rc::gen::inRange(0, 6),
                              .perPeer = 1 << *rc::gen::inRange(0, 6),
                              .ranks = *rc::gen::inRange(2, 100),
                              .nodes = *rc::gen::inRange(1, 3)};
    const std::vector<std::uint64_t> bounds = transferBounds(input);
    const std::uint64_t bytes = *rc::gen::inRange<std::uint64_t>(1, 40 << 20);
    const auto above = std::upper_bound(bounds.begin(), bounds.end(), bytes);
    RC_ASSERT(above != bounds.begin());
    RC_ASSERT(transferSplit(input, bytes) == transferSplit(input, *std::prev(above)));
  }));
}

// Under Xylem's own rules ranks agree, whatever their hosts are.
TEST(PreflightProperty, UnderXylemsRulesAllRanksAgree) {
  EXPECT_TRUE(rc::check([] {
    plan::PlanRequest request;
    const int kinds = *rc::gen::inRange(1, 4);
    for (int kind = 0; kind < kinds; ++kind)
      request.hosts.push_back({std::make_shared<const topology::Document>(
                                   topology::parseTopology(testing::anyMachine(), "test.xml")),
                               {},
                               *rc::gen::inRange(1, 3)});
    request.rules = connect::Rules::kXylem;
    request.offered = {*rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()};
    const Settings settings = Settings::fromPairs({{"NCCL_COLLNET_ENABLE", "1"}});
    const plan::Plan plan = plan::planJob(request, settings);
    RC_ASSERT(plan::agreementOf(plan).consistent());
    RC_ASSERT(!preflight(plan).disagrees());
  }));
}

}  // namespace
}  // namespace xylem::preflight
