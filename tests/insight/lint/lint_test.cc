// Lint: each kind of finding has its line, lint goes on after the first one, and the planner's readers judge
// it: every file that they refuse has an error.

#include "insight/lint/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "planner_support/any_machine.h"

namespace xylem::lint {
namespace {

using namespace testing;  // NOLINT: the machines
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;
const fs::path kSource = XYLEM_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A machine without findings, with one element per line.
const std::string kGood = R"(<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" gdr="1">
          <nvlink target="0000:12:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" gdr="1">
          <nvlink target="0000:11:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:13:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

bool readersAccept(const std::string& text) {
  try {
    const auto rules = rules::newestRules();
    topology::buildSystem(topology::completeForJob(topology::parseTopology(text, "test.xml"), *rules), rules);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

auto finding(Severity severity, const std::string& rule, std::vector<int> lines) {
  return AllOf(Field("severity", &Finding::severity, severity), Field("rule", &Finding::rule, rule),
               Field("lines", &Finding::lines, std::move(lines)),
               Field("fix", &Finding::fix, Not(IsEmpty())));
}

TEST(Lint, AGoodFileIsClean) {
  const LintReport report = lintTopology(kGood, "good.xml");
  EXPECT_THAT(report.findings, IsEmpty()) << toJson(report);
  EXPECT_TRUE(report.isClean());
  EXPECT_EQ(report.gpus, 2);
  EXPECT_EQ(report.nets, 1);
}

// 32 NICs, and GPUs with a link element for each NVSwitch: NCCL refuses such files of real machines.
TEST(Lint, TooManyElementsComeWithWhatMayGo) {
  std::string nics;
  for (int i = 0; i < 80; ++i)
    nics += fmt::format(
        R"(<pci busid="0000:{:02x}:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"><nic>)"
        R"(<net name="mlx5_{}" dev="{}" speed="{}" port="1" guid="{:#x}" gdr="1"/></nic></pci>)",
        0x20 + i, i + 1, i + 1, i < 4 ? 25000 : 400000, 0x100 + i);
  std::string links;
  for (int i = 0; i < 12; ++i)
    links += fmt::format(R"(<nvlink target="0000:f{:x}:00.0" count="1" tclass="0x068000"/>)", i);
  const std::string inside = with(with(kGood, "        </gpu>\n      </pci>\n      <pci busid=\"0000:12",
                                       links + "</gpu></pci>\n      <pci busid=\"0000:12"),
                                  "    </pci>\n  </cpu>", nics + "</pci>\n  </cpu>");
  const LintReport report = lintTopology(inside, "large.xml");
  ASSERT_THAT(report.findings, Contains(Field("rule", &Finding::rule, "too-many-elements")))
      << toJson(report);
  for (const Finding& finding : report.findings) {
    if (finding.rule != "too-many-elements") continue;
    // 12 elements of the good file, root included, 12 links and 240 elements of NICs.
    EXPECT_THAT(finding.found, HasSubstr("more than 256"));
    EXPECT_THAT(finding.fix,
                AllOf(HasSubstr("one nvlink for all NVSwitches"), HasSubstr("(saves 11)"),
                      HasSubstr("slower than the fastest: mlx5_1, mlx5_2, mlx5_3, mlx5_4 (saves 12)"),
                      HasSubstr("NCCL_IB_HCA")));
  }
}

TEST(Lint, AsManyElementsAsNcclTakesAreFine) {
  const auto with256 = [](int more) {
    std::string pcis;
    for (int i = 0; i < 256 - 12 + more; ++i)
      pcis += fmt::format(
          R"(<pci busid="0000:{:02x}:{:02x}.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16"/>)",
          0x20 + i / 32, i % 32);
    return lintTopology(with(kGood, "    </pci>\n  </cpu>", pcis + "</pci>\n  </cpu>"), "test.xml");
  };
  const auto tooMany = Contains(Field("rule", &Finding::rule, "too-many-elements"));
  EXPECT_THAT(with256(0).findings, Not(tooMany));
  EXPECT_THAT(with256(1).findings, tooMany);
}

struct Case {
  const char *from, *to;
  Severity severity;
  const char* rule;
  int line;
};

TEST(Lint, NamesWhatIsWrongWithItsLine) {
  constexpr Severity e = Severity::kError, w = Severity::kWarning, n = Severity::kNote;
  const Case cases[] = {
      {" arch=\"x86_64\"", "", e, "missing-attribute", 2},
      {" modelid=\"143\"", "", e, "missing-attribute", 2},
      {"arch=\"x86_64\"", "arch=\"x86\"", w, "cpu-kind", 2},
      {"numaid=\"0\"", "numaid=\"-1\"", w, "numa-unknown", 2},
      {"affinity=\"ff\"", "affinity=\"0-7\"", w, "affinity", 2},
      {" class=\"0x060400\"", "", e, "missing-attribute", 3},
      {"class=\"0x060400\"", "class=\"0x030200\"", e, "class", 3},
      {"32.0 GT/s PCIe", "32 GB/s", w, "link-speed", 3},
      {"link_width=\"16\"", "link_width=\"7\"", w, "link-width", 3},
      {"link_width=\"16\"", "link_width=\"32\"", w, "link-width", 3},
      {"link_width=\"16\"", "link_width=\"\"", n, "link-defaults", 3},
      {"class=\"0x030200\"", "class=\"0x020000\"", w, "class", 4},
      {" sm=\"90\"", "", e, "missing-attribute", 5},
      {"sm=\"90\"", "sm=\"9\"", w, "sm", 5},
      {"sm=\"90\"", "sm=\"ninety\"", e, "bad-value", 5},
      {"gdr=\"1\"", "gdr=\"0\"", n, "gdr-off", 5},
      {"dev=\"0\" sm", "dve=\"0\" sm", w, "unknown-attribute", 5},
      {"target=\"0000:12:00.0\"", "target=\"0000:22:00.0\"", w, "nvlink-target", 6},
      {"count=\"4\"", "count=\"24\"", w, "nvlink-count", 6},
      {"count=\"4\"", "count=\"2\"", w, "nvlink-count", 6},
      {"<nvlink target=\"0000:12:00.0\" count=\"4\" tclass=\"0x030200\"/>", "", w, "nvlink-one-way", 11},
      {"busid=\"0000:12:00.0\"", "busid=\"0000:11:00.0\"", e, "duplicate-busid", 9},
      {"</gpu>", "</cpu>", e, "xml", 5},
      {"busid=\"0000:12:00.0\"", "busid=\"12:00.0\"", w, "busid", 9},
      {"dev=\"1\"", "dev=\"0\"", w, "duplicate-dev", 10},
      {"<nic>", "<nic><disk/>", w, "unknown-element", 15},
      {"<net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" guid=\"0x1\" gdr=\"1\"/>", "", w,
       "nic-without-net", 15},
      {" dev=\"0\" speed", " speed", w, "net-without-dev", 16},
      {"speed=\"400000\"", "speed=\"400\"", w, "net-speed", 16},
      {" speed=\"400000\"", "", w, "net-speed", 16},
      {"guid=\"0x1\" gdr=\"1\"", "guid=\"0x1\"", w, "gdr-missing", 16},
      {"guid=\"0x1\" gdr=\"1\"", "guid=\"0x1\" gdr=\"0\"", n, "gdr-off", 16},
      {"version=\"1\"", "version=\"2\"", e, "bad-value", 1},
      {"dev=\"0\" sm=\"90\"", "dev=0 sm=\"90\"", e, "xml", 5},
  };
  for (const Case& c : cases) {
    const LintReport report = lintTopology(with(kGood, c.from, c.to), "test.xml");
    EXPECT_THAT(report.findings, Contains(finding(c.severity, c.rule, {c.line}))) << c.to << toJson(report);
  }
}

// A version reads all that it writes. An older one leaves the new attributes out, and lint says so.
TEST(Lint, KnowsTheAttributesOfEachVersion) {
  const std::string text = with(kGood, "<net ", "<net net=\"1\" gin=\"1\" rma=\"1\" ");
  const auto by = [&](const char* version) {
    const LintReport report = lintTopology(text, "t", rules::rulesOf(rules::parseVersion(version).value()));
    EXPECT_EQ(report.count(Severity::kError), 0);
    return std::pair(report.count(Severity::kWarning), report.count(Severity::kNote));
  };
  const int notes = lintTopology(kGood, "t").count(Severity::kNote);
  EXPECT_EQ(by("2.30.7"), std::pair(0, notes + 3)) << "older versions leave them out";
  EXPECT_EQ(by("2.29.7"), std::pair(1, notes + 2));
  EXPECT_EQ(by("2.28.9"), std::pair(3, notes));
  const LintReport old = lintTopology(text, "t", rules::rulesOf({2, 27, 7}));
  EXPECT_THAT(old.findings,
              Contains(AllOf(Field(&Finding::rule, "newer-attribute"),
                             Field(&Finding::found, HasSubstr("NCCL 2.27.7 does not know it")))));
}

TEST(Lint, KnowsPartsOfGpus) {
  const std::string text =
      with(kGood, "<gpu dev=\"0\"", "<gpu dev=\"0\" sm=\"90\" mlopart=\"0\"/><gpu mlopart=\"1\" dev=\"0\"");
  EXPECT_TRUE(lintTopology(text, "t").isClean()) << toJson(lintTopology(text, "t")).dump(1);
  EXPECT_THAT(lintTopology(text, "t", rules::rulesOf({2, 29, 7})).findings,
              Contains(Field(&Finding::rule, "two-devices")));
}

TEST(Lint, SaysHowSeveralRanksMayUseAGpu) {
  const std::string text = with(kGood, "<gpu dev=\"0\"", "<gpu dev=\"0\" sm=\"90\"/><gpu dev=\"0\"");
  const auto fix = [&](rules::Version version) {
    for (const Finding& found : lintTopology(text, "t", rules::rulesOf(version)).findings)
      if (found.rule == "two-devices") return found.fix;
    return std::string();
  };
  EXPECT_THAT(fix({2, 30, 7}), HasSubstr("NCCL_MULTI_RANK_GPU_ENABLE=1"));
  EXPECT_THAT(fix({2, 29, 7}), ::testing::StartsWith("give every gpu a pci element"));
  EXPECT_THAT(fix({2, 29, 7}), ::testing::Not(HasSubstr("NCCL_MULTI_RANK_GPU_ENABLE")));
}

TEST(Lint, OneMistakeIsOneFinding) {
  const LintReport open = lintTopology(with(kGood, "</gpu>", "</cpu>"), "test.xml");
  ASSERT_FALSE(open.findings.empty());
  EXPECT_THAT(open.findings.front().found, ::testing::HasSubstr("element `gpu`"));
  // If two GPUs have the same bus id, their links are not added up.
  constexpr const char* kSwitch = "<nvlink target=\"fffffff:ffff:ff\" count=\"4\" tclass=\"0x068000\"/>";
  std::string text =
      with(kGood, "<nvlink target=\"0000:12:00.0\" count=\"4\" tclass=\"0x030200\"/>", kSwitch);
  text = with(text, "<nvlink target=\"0000:11:00.0\" count=\"4\" tclass=\"0x030200\"/>", kSwitch);
  EXPECT_TRUE(lintTopology(text, "test.xml").isClean());
  text = with(text, "busid=\"0000:12:00.0\"", "busid=\"0000:11:00.0\"");
  const LintReport report = lintTopology(text, "test.xml");
  for (const Finding& found : report.findings) EXPECT_NE(found.rule, "nvswitch-count") << toJson(report);
}

TEST(Lint, NamesDevicesInTheWrongPlace) {
  const std::string cpu = "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"arm64\">\n";
  EXPECT_THAT(lintTopology(cpu + "<gpu dev=\"0\" sm=\"90\"/>\n</cpu></system>", "t").findings,
              Contains(finding(Severity::kError, "misplaced-element", {3})));
  EXPECT_THAT(
      lintTopology(cpu + "<pci busid=\"0000:10:00.0\" class=\"0x060400\"/>\n</cpu></system>", "t").findings,
      AllOf(Contains(finding(Severity::kWarning, "empty-switch", {3})),
            Contains(finding(Severity::kError, "no-gpu", {}))));
  EXPECT_THAT(lintTopology("<graphs version=\"1\"/>", "t").findings,
              ElementsAre(finding(Severity::kError, "graph-file", {1})));
  EXPECT_THAT(lintTopology("<system version=\"1\"", "t").findings,
              ElementsAre(finding(Severity::kError, "xml", {1})));
}

TEST(Lint, NamesDevicesThatAreFarFromEachOther) {
  const std::string text =
      machine(cpu(0, gpu("0000:11:00.0", 0, 90)) + cpu(1, nic("0000:12:00.0", 0, 100000)));
  const LintReport report = lintTopology(text, "t");
  EXPECT_THAT(report.findings, AllOf(Contains(Field(&Finding::rule, "gpus-without-net")),
                                     Contains(Field(&Finding::rule, "nets-without-gpu"))));
  const std::string mixed =
      machine(cpu(0, gpu("0000:11:00.0", 0, 90)) + cpu(1, gpu("0000:12:00.0", 1, 90), "arch=\"arm64\""));
  EXPECT_THAT(lintTopology(mixed, "t").findings, Contains(Field(&Finding::rule, "mixed-cpus")));
}

TEST(Lint, GoesOnAfterTheFirstAndPutsLikeFindingsTogether) {
  std::string text = with(kGood, " arch=\"x86_64\"", "");
  text = with(with(text, " sm=\"90\"", ""), " sm=\"90\"", "");
  text = with(text, "speed=\"400000\"", "speed=\"400\"");
  EXPECT_THAT(lintTopology(text, "t").findings,
              ElementsAre(finding(Severity::kError, "missing-attribute", {2}),
                          finding(Severity::kError, "missing-attribute", {5, 10}),
                          finding(Severity::kWarning, "net-speed", {16})));
}

TEST(Lint, LongNamesOfAFileAreCutOff) {
  std::string names;
  for (int i = 0; i < 1000; ++i) names += "ä";
  const LintReport report = lintTopology("<" + names + "/>", "long.xml");
  ASSERT_THAT(report.findings, Not(IsEmpty()));
  for (const Finding& finding : report.findings) {
    EXPECT_LT(finding.found.size(), 700u);
    EXPECT_LT(finding.fix.size(), 700u);
    EXPECT_NO_THROW(toJson(report).dump()) << "cut inside a character";
  }
}

TEST(Lint, FlatMachinesAreFound) {
  const LintReport flat = lintTopologyFile((kSource / "topologies/misconfigured/vm-flat.xml").string());
  EXPECT_THAT(flat.findings, Contains(AllOf(Field("severity", &Finding::severity, Severity::kWarning),
                                            Field("rule", &Finding::rule, "flat"))));
  // Workstations have no PCI switches either: nothing is wrong with them.
  const LintReport roots = lintTopologyFile((kSource / "topologies/rtx8-rootport-amd.xml").string());
  EXPECT_THAT(roots.findings, Not(Contains(AllOf(Field("severity", &Finding::severity, Severity::kWarning),
                                                 Field("rule", &Finding::rule, "flat")))));
  const LintReport good = lintTopologyFile((kSource / "topologies/dgxh100.xml").string());
  EXPECT_THAT(good.findings, Not(Contains(Field("rule", &Finding::rule, "flat"))));
}

TEST(Lint, TheZooHasNoErrors) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "topologies")) {
    if (entry.path().extension() != ".xml") continue;
    const LintReport report = lintTopologyFile(entry.path().string());
    EXPECT_EQ(report.count(Severity::kError), 0) << toJson(report);
    ++files;
  }
  EXPECT_GT(files, 40);
}

// A file that the readers refuse has an error. Returns whether they do.
bool expectReadersToAgree(const std::string& text, const std::string& what) {
  const LintReport report = lintTopology(text, what);
  if (readersAccept(text)) return false;
  EXPECT_GT(report.count(Severity::kError), 0) << what;
  return true;
}

TEST(Lint, NothingIsRefusedThatHasNoError) {
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/fuzz/corpus/topology"))
    refused += expectReadersToAgree(read(entry.path()), entry.path().filename().string()) ? 1 : 0;
  EXPECT_GT(refused, 10);
}

TEST(Lint, NothingIsRefusedThatHasNoErrorInDamagedMachines) {
  EXPECT_TRUE(rc::check([] {
    std::string text = anyMachine();
    RC_ASSERT(readersAccept(text));
    RC_ASSERT(lintTopology(text, "any").count(Severity::kError) == 0);
    const int changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const auto length = *rc::gen::inRange<std::size_t>(0, 12);
      text.replace(at, length,
                   *rc::gen::element<std::string>("", "\"", "-1", "x", "pci", " ", ">", "<gpu/>", "0"));
    }
    const LintReport report = lintTopology(text, "damaged");
    if (!readersAccept(text)) RC_ASSERT(report.count(Severity::kError) > 0);
  }));
}

TEST(Lint, JsonSaysTheSame) {
  const LintReport report = lintTopology(with(kGood, " sm=\"90\"", ""), "t.xml");
  const auto json = toJson(report);
  EXPECT_EQ(json["format"], "xylem-lint-1");
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(json["clean"], false);
  EXPECT_EQ(json["findings"][0]["rule"], "missing-attribute");
  EXPECT_EQ(json["findings"][0]["lines"][0], 5);
}

}  // namespace
}  // namespace xylem::lint
