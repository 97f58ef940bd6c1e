// Detection that completes a topology file (NCCL_TOPO_FILE): the attributes of the file stay, and the machine
// gives those that the file leaves out.
#include <gmock/gmock.h>

#include "planner/topology/detect.h"
#include "planner/topology/machine_recipe.h"

namespace xylem::topology {
namespace {

using testing::CapturedMachine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Outcome {
  std::string text;
  std::vector<std::string> remarks;
};

// Detects the machine with two GPUs and two virtual functions on one bus, with this topology file at `place`.
Outcome detectWith(const std::string& file, const std::string& place = "vm.xml", bool named = true,
                   const char* version = "2.30") {
  CapturedMachine machine;
  buildMachine(machine, testing::readMachineFile("virtual-machine-with-vfs", ".txt"));
  if (!file.empty()) machine.write(place, file);
  const auto gpus = gpuSourceOf(machine.root());
  DetectOptions options;
  options.hostId = "a";
  options.root = machine.root();
  options.gpus = gpus.get();
  options.rdma.mergeFunctions = false;
  options.rules = rules::rulesOf(rules::parseVersion(version).value());
  if (named) options.topologyFile = (machine.root() / place).string();
  Outcome outcome;
  outcome.text = writeTopology(detectTopology(options, &outcome.remarks));
  return outcome;
}

// A file as cloud providers write it: the true tree, with made-up bus ids of switches, without GPUs and nets.
constexpr const char* kPlaces = R"(<system version="1">
  <cpu numaid="0" affinity="0000000f" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:00:04.0" class="0x030000" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0000:00:06.0" link_speed="16 GT/s" link_width="8"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="000000f0">
    <pci busid="ffff:ff:02.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:00:05.0"/>
      <pci busid="0000:00:09.0" class="0x030200"/>
    </pci>
  </cpu>
</system>)";

TEST(TopologyFile, StaysAsItIsAndIsCompleted) {
  // 00:07.0 is not in the file; 00:09.0 is not on the machine. Only classes are read anew.
  const Outcome found = detectWith(kPlaces);
  EXPECT_EQ(found.text, R"(<system version="1">
  <cpu numaid="0" affinity="0000000f" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49" host_hash="0x2b5c4">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:00:04.0" class="0x030200" link_speed="16 GT/s" link_width="16" vendor="0x10de" device="0x20b5" subsystem_vendor="0x10de" subsystem_device="0x1533">
        <gpu dev="0" sm="80" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:00:06.0" link_speed="16 GT/s" link_width="8" class="0x020700" vendor="0x15b3" device="0x101e" subsystem_vendor="0x15b3" subsystem_device="0x0007">
        <nic>
          <net name="mlx5_0" dev="0" latency="0.000000" speed="200000" port="1" guid="0x0" maxconn="131072" gdr="0"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu host_hash="0x2b5c4" numaid="-1" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:00:07.0" class="0x020700" vendor="0x15b3" device="0x101e" subsystem_vendor="0x15b3" subsystem_device="0x0007" link_speed="" link_width="0">
      <nic>
        <net name="mlx5_1" dev="1" latency="0.000000" speed="200000" port="1" guid="0x0" maxconn="131072" gdr="0"/>
      </nic>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="000000f0" host_hash="0x2b5c4" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="ffff:ff:02.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:00:05.0" class="0x030200" vendor="0x10de" device="0x20b5" subsystem_vendor="0x10de" subsystem_device="0x1533" link_speed="" link_width="0">
        <gpu dev="1" sm="80" rank="1" gdr="0"/>
      </pci>
    </pci>
  </cpu>
</system>
)");
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("no NUMA node for 0000:00:07.0")));
}

// The dump of an earlier job has that job's ranks and numbers, which detection replaces; it keeps links and
// ports.
TEST(TopologyFile, OfAnEarlierJobGivesItsLinksButNotItsRanks) {
  const std::string dump = R"(<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:00:04.0" class="0x030200">
      <gpu dev="5" sm="90" rank="1" gdr="0"><nvlink target="0000:00:05.0" count="12" tclass="0x030200"/></gpu>
    </pci>
    <pci busid="0000:00:05.0" class="0x030200"><gpu dev="6" sm="90" rank="0" gdr="0" keep="1"/></pci>
    <nic><net name="mlx5_1" dev="9" speed="50000" keep="1"/></nic>
  </cpu>
</system>)";
  const std::string text = detectWith(dump).text;
  EXPECT_THAT(text, HasSubstr(R"(<gpu dev="5" sm="90" rank="0" gdr="0">)"));
  EXPECT_THAT(text, HasSubstr(R"(<nvlink target="0000:00:05.0" count="12" tclass="0x030200"/>)"));
  EXPECT_THAT(text, HasSubstr(R"(<gpu dev="6" sm="90" rank="1" gdr="0"/>)"));
  EXPECT_THAT(text, HasSubstr(R"(<net name="mlx5_1" dev="1" speed="50000" latency="0.000000")"));
  EXPECT_THAT(text, Not(HasSubstr("keep")));
}

TEST(TopologyFile, DescribesTheOwnHostSince227) {
  const std::string file = R"(<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:00:04.0" class="0x030200"/>
  </cpu>
</system>)";
  EXPECT_THAT(detectWith(file, "vm.xml", true, "2.26").text, HasSubstr(R"(<cpu host_hash="0x1" numaid="0")"));
  EXPECT_THAT(detectWith(file, "vm.xml", true, "2.27").text,
              HasSubstr(R"(<cpu host_hash="0x2b5c4" numaid="0")"));
}

TEST(TopologyFile, ThatCannotBeOpenedIsAWarning) {
  const Outcome found = detectWith("", "none.xml");
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("none.xml (NCCL_TOPO_FILE)")));
  EXPECT_EQ(found.text, detectWith("", "", false).text);
}

TEST(TopologyFile, ThatIsMalformedIsAnError) { EXPECT_THROW(detectWith("<system"), InputError); }

TEST(TopologyFile, OfAVirtualMachinesToolsIsTakenSilently) {
  const Outcome found = detectWith(kPlaces, "var/run/nvidia-topologyd/virtualTopology.xml", false);
  EXPECT_EQ(found.text, detectWith(kPlaces).text);
  EXPECT_EQ(found.remarks.size(), 1u);
}

TEST(TopologyFile, SaysThatBusIdsInCapitalsAreNeverFound) {
  std::string file = kPlaces;
  file.replace(file.find("ffff:ff:01.0"), 12, "FFFF:FF:01.0");
  EXPECT_THAT(detectWith(file).remarks,
              ElementsAre(HasSubstr("vm.xml:3: busid=\"FFFF:FF:01.0\" is never found"), HasSubstr("NUMA")));
}

TEST(TopologyFile, IsTheMachineWhereThereAreNoGpus) {
  CapturedMachine machine;
  machine.addCpus({});
  machine.write("vm.xml", "<system version=\"1\">\n  <cpu numaid=\"0\" arch=\"arm64\"/>\n</system>");
  const auto gpus = gpuSourceOf(machine.root());
  std::vector<std::string> remarks;
  DetectOptions options;
  options.root = machine.root();
  options.gpus = gpus.get();
  options.topologyFile = (machine.root() / "vm.xml").string();
  EXPECT_EQ(writeTopology(detectTopology(options, &remarks)),
            "<system version=\"1\">\n  <cpu numaid=\"0\" arch=\"arm64\"/>\n</system>\n");
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("is taken as it stands")));
}

}  // namespace
}  // namespace xylem::topology
