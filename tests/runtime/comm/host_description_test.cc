// The description that a rank gives of its host: its own device is found among those of a topology.

#include "runtime/comm/join/host_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "core/text_file.h"

namespace xylem::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A machine with two GPUs, as a topology file describes it.
class TwoGpus {
 public:
  TwoGpus() {
    writeFile(file_, R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207">
    <pci busid="0000:1b:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"/>
    </pci>
    <pci busid="0000:3b:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="90" rank="1" gdr="1"/>
    </pci>
  </cpu>
</system>
)");
  }
  ~TwoGpus() { std::filesystem::remove(file_); }

  Settings settings() const { return Settings::fromPairs({{"NCCL_TOPO_FILE", file_}}); }

 private:
  const std::string file_ = std::filesystem::temp_directory_path() / "xylem-two-gpus.xml";
};

TEST(HostDescription, HasTheGpuWithTheBusIdThatTheDriverNames) {
  const TwoGpus machine;
  // A process may see the second GPU as its device 0, and two ranks may share it.
  for (const int localRank : {0, 1}) {
    const RankDescription mine = describeForRank(
        machine.settings(),
        {.rank = localRank, .localRank = localRank, .localRanks = 2, .device = 0, .gpu = "0000:3B:00.0"});
    EXPECT_FALSE(mine.hostDevice);
    EXPECT_EQ(mine.busId, "0000:3b:00.0");
    EXPECT_THAT(mine.xml, AllOf(HasSubstr("0000:3b:00.0"), HasSubstr(fmt::format("rank=\"{}\"", localRank)),
                                Not(HasSubstr("0000:1b:00.0"))));
  }
  // Without a bus id the number of the device decides.
  EXPECT_EQ(describeForRank(machine.settings(), {.localRanks = 2, .device = 0}).busId, "0000:1b:00.0");
}

TEST(HostDescription, FailsIfThereIsNoSuchGpu) {
  const TwoGpus machine;
  try {
    describeForRank(machine.settings(), {.rank = 4, .device = 2, .gpu = "0000:5b:00.0"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kSystemError);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("rank 4: its GPU 2 has the bus id 0000:5b:00.0"),
                      HasSubstr("xylem-two-gpus.xml describes no such gpu"), HasSubstr("NCCL_TOPO_FILE")));
  }
}

TEST(HostDescription, HasGpuDirectRdmaIfAllRanksSayThatADeviceHasIt) {
  const auto seen = [](const char* busId, const char* first, const char* second) {
    return fmt::format(
        R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207">
             <pci busid="{}" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="90" rank="0" gdr="1"/></pci>
             <nic>
               <net name="a" dev="0" speed="100000" port="1" guid="0x1" maxconn="8" gdr="{}"/>
               <net name="b" dev="1" speed="100000" port="1" guid="0x2" maxconn="8" gdr="{}"/>
             </nic>
           </cpu></system>)",
        busId, first, second);
  };
  const std::string xmls[] = {seen("0000:1b:00.0", "1", "1"), seen("0000:3b:00.0", "0", "1")};
  const topology::Document fused = fuseDescriptions(xmls);
  const std::string text = topology::writeTopology(fused);
  for (const char* const net : {R"(<net name="a" dev="0")", R"(<net name="b" dev="1")"}) {
    const std::size_t at = text.find(net);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find(net, at + 1), std::string::npos) << text;
    EXPECT_THAT(text.substr(at, text.find('>', at) - at),
                HasSubstr(net[11] == 'a' ? R"(gdr="0")" : R"(gdr="1")"));
  }
}

}  // namespace
}  // namespace xylem::comm
