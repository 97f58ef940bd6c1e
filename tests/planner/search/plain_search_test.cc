// Searches of random small machines against the plain search: the same graphs, found in the same steps.

#include "planner/search/plain_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "planner/paths/job_paths.h"
#include "planner_support/machine_text.h"
#include "support/effort.h"
#include "support/sanitizers.h"

namespace xylem::search {
namespace {

using testing::PlainHost;

const int kMachines = testing::byEffort({.quick = 8, .normal = testing::kSanitized ? 15 : 60, .night = 2000});

// A random machine, always the same for a seed: CPUs with switches, GPUs and NICs below them, NVLinks or an
// NVSwitch or neither.
class RandomMachine {
 public:
  explicit RandomMachine(unsigned seed) : random_(seed) {
    const int cpus = pick({1, 1, 2});
    const int perCpu = seed % 50 == 0 ? 4 : pick({1, 2, 2, 3});
    gpus_ = cpus * perCpu;
    sm_ = pick({60, 70, 75, 80, 86, 90, 100});
    speed_ = pick<const char*>({"8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"});
    mesh_ = pick({0, 1, 2, 3});
    nicMbps_ = pick({10000, 25000, 100000, 100000, 200000, 400000, 1500});
    mixed_ = pick({0, 0, 0, 1}) == 1;
    const std::string kind =
        pick<const char*>({R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85")",
                           R"(arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1")",
                           R"(arch="ppc64")", R"(arch="arm64")"});
    std::string body;
    for (int c = 0; c < cpus; ++c) body += testing::cpu(c, cpuBody(c, perCpu), kind);
    text_ = testing::machine(body);
  }
  const std::string& text() const { return text_; }

 private:
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  static std::string bus(int device) { return fmt::format("0000:{:02x}:00.0", 0x20 + device); }

  std::string cpuBody(int cpu, int perCpu) {
    const int nics = pick({0, 1, 1, 2, 2});
    const bool switched = pick({0, 1, 1}) == 1;
    std::string inside;
    std::string beside;
    for (int i = 0; i < perCpu; ++i) inside += gpu(cpu * perCpu + i);
    for (int i = 0; i < nics; ++i) (pick({0, 1}) == 1 ? inside : beside) += nic();
    if (switched) inside = testing::pciSwitch(bus(0x60 + cpu), inside, speed_);
    return inside + beside;
  }
  std::string gpu(int g) {
    std::string links;
    for (int p = 0; mesh_ == 1 && p < gpus_; ++p)
      if (p != g) links += testing::nvlink(bus(p), 2);
    for (int p = 0; mesh_ == 2 && p < gpus_; ++p)  // as many links both ways
      if (p != g && (p + g) % 3 != 0) links += testing::nvlink(bus(p), 1 + (p * g) % 2);
    if (mesh_ == 3) links = testing::nvswitch(6 * (1 + sm_ / 80));
    return testing::gpu(bus(g), g, mixed_ && g == 0 ? 70 : sm_, links, speed_);
  }
  std::string nic() {
    const int dev = nics_++;
    const int guid = pick({0, 0, 1}) == 1 ? 0 : dev;
    return fmt::format(
        R"(<pci busid="{}" class="0x020000" link_speed="{}" link_width="{}"><nic><net name="n{}" dev="{}" speed="{}" )"
        R"(port="{}" guid="{:#x}" latency="{}" gdr="{}" coll="{}"/></nic></pci>)",
        bus(0x40 + dev), speed_, pick({16, 16, 8}), dev, dev, nicMbps_, pick({1, 1, 2}), 0x100 + guid,
        pick({0, 0, 0, 3}), pick({1, 1, 0}), pick({1, 1, 0}));
  }

  std::mt19937 random_;
  int gpus_ = 0, sm_ = 0, mesh_ = 0, nicMbps_ = 0, nics_ = 0;
  bool mixed_ = false;
  const char* speed_ = "";
  std::string text_;
};

std::string describe(const ChannelGraph& g) {
  std::string text = fmt::format(
      "pattern {} crossNic {} channels {} bw {}/{} types {}/{} same {} latency {} hops {}\n",
      static_cast<int>(g.pattern), g.crossNic, g.nChannels, g.bwIntra, g.bwInter,
      static_cast<int>(g.typeIntra), static_cast<int>(g.typeInter), g.sameChannels, g.latencyInter, g.nHops);
  const int shown = g.pattern == Pattern::kNvls ? 1 : g.gpuCount;
  for (int c = 0; c < g.nChannels; ++c) {
    for (int i = 0; i < shown; ++i) text += fmt::format("{} ", g.gpu(c, i));
    text += fmt::format("nets {} {}\n", g.startNet(c), g.endNet(c));
  }
  for (const SearchAttempt& a : g.attempts)
    text +=
        fmt::format("{}/{} {}/{} cross {} same {}: {} steps{}, {} to {}\n", a.bwIntra, a.bwInter,
                    static_cast<int>(a.typeIntra), static_cast<int>(a.typeInter), a.crossNic, a.sameChannels,
                    a.steps, a.exhausted ? " (all)" : "", a.channelsBefore, a.channelsAfter);
  return text;
}

void compare(unsigned seed) {
  const RandomMachine machine(seed);
  SCOPED_TRACE(fmt::format("machine {}", seed));
  const topology::System system = testing::systemOf(machine.text());
  const int gpus = system.count(topology::NodeType::kGpu);
  const int ranks = seed % 3 == 0 ? gpus : 2 * gpus;
  const paths::HostPaths host = paths::pathsOfDomain(system, paths::domains(system, {}), 0, ranks, {});
  const paths::Locality locality(host.system, host.paths);
  const int crossNic = static_cast<int>(seed % 5 == 0 ? 1 : seed % 7 == 0 ? 0 : 2);
  HostChannels channels(host.system, host.paths, locality, {.crossNic = crossNic});
  PlainHost plain(host.system, host.paths, locality, crossNic);
  const bool collNet = host.system.count(topology::NodeType::kGpu) > 1;
  int rings = 1;
  for (const GraphRequest& asked : {GraphRequest{.pattern = Pattern::kRing},
                                    {.pattern = Pattern::kBalancedTree, .maxChannels = 0},
                                    {.pattern = Pattern::kSplitTree, .minChannels = 1, .maxChannels = 4},
                                    {.pattern = Pattern::kTree, .collNet = true, .maxChannels = 0},
                                    {.pattern = Pattern::kCollnetDirect, .collNet = true, .maxChannels = 64},
                                    {.pattern = Pattern::kNvls, .maxChannels = 64}}) {
    if (asked.pattern == Pattern::kCollnetDirect && !collNet) continue;
    GraphRequest request = asked;
    if (asked.maxChannels == 0) request.minChannels = request.maxChannels = rings;
    ChannelGraph expected = plain.compute(request);
    const ChannelGraph found = channels.compute(request);
    if (request.pattern == Pattern::kRing) rings = found.nChannels;
    if (found.fallback) {
      EXPECT_EQ(expected.nChannels, 0);
      continue;
    }
    ASSERT_EQ(describe(found), describe(expected)) << machine.text();
  }
}

TEST(PlainSearch, AgreesOnRandomMachines) {
  for (int seed = 1; seed <= kMachines && !HasFatalFailure(); ++seed) compare(static_cast<unsigned>(seed));
}

}  // namespace
}  // namespace xylem::search
