// The sources of facts about GPUs: NVML, as a stand-in for its library, and a captured machine's file.
#include <gmock/gmock.h>
#include <stdlib.h>

#include "core/error.h"
#include "planner/topology/captured_machine.h"
#include "planner/topology/detect_gpus.h"

namespace xylem::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using xylem::testing::CapturedMachine;

constexpr const char* kFacts =
    "gpu dev=0 busid=0000:1b:00.0 sm=90 gdr=1\n"
    "pci id=10de:2330:10de:16c1 generation=5 width=16\n"
    "nvlink target=0000:0a:00.0 count=4\n"
    "nvlink target=0000:c4:00.0 count=3\n"
    "c2c bw=44712 count=2\n"
    "gpu dev=2 busid=0000:1d:00.0 sm=70 gdr=1\n"
    "pci id=10de:2330:10de:16c1 generation=0 width=0\n"
    "nvlink target=0000:0a:00.0 count=3\n"
    "nvlink target=0000:c4:00.0 count=3\n";

// GPU 0 has ten links. Link 3 is not for transfers between GPUs, link 4 is down, and NVML does not know the
// other end of link 5. Links 0, 2, 6 and 8 lead to one device, 1, 7 and 9 to the other. The older GPU has six
// links, and its PCI link cannot be read.
TEST(NvmlGpus, AreDescribedAsNcclDescribesThem) {
  const GpuInventory found = nvmlGpus(XYLEM_FAKE_NVML)->read();
  EXPECT_EQ(writeGpuFacts(found.gpus), kFacts);
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("GPU is lost")));
}

TEST(NvmlGpus, AreNoneWithoutTheLibrary) {
  const GpuInventory found = nvmlGpus("libnone-such.so.7")->read();
  EXPECT_THAT(found.gpus, IsEmpty());
  EXPECT_THAT(found.remarks, IsEmpty());
}

TEST(NvmlGpus, SaysWhyTheLibraryDoesNotStart) {
  setenv("FAKE_NVML_INIT", "9", 1);
  const GpuInventory found = nvmlGpus(XYLEM_FAKE_NVML)->read();
  unsetenv("FAKE_NVML_INIT");
  EXPECT_THAT(found.gpus, IsEmpty());
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("does not start (Driver Not Loaded)")));
}

TEST(CapturedGpus, ReadWhatWasWritten) {
  CapturedMachine machine;
  machine.write(kCapturedGpusFile, std::string("# two GPUs\n\n") + kFacts);
  const GpuInventory found = gpuSourceOf(machine.root())->read();
  EXPECT_EQ(writeGpuFacts(found.gpus), kFacts);
}

TEST(CapturedGpus, BusIdsThatNobodyCanReadAreEmpty) {
  EXPECT_EQ(readableTarget("0000:0A:00.0"), "0000:0a:00.0");
  EXPECT_EQ(readableTarget(""), "");
  EXPECT_EQ(readableTarget("0000:\x01"), "");
  EXPECT_EQ(readableTarget("\xff\xff"), "");
}

TEST(CapturedGpus, AreNoneWithoutTheFile) {
  const CapturedMachine machine;
  EXPECT_THAT(gpuSourceOf(machine.root())->read().gpus, IsEmpty());
}

TEST(CapturedGpus, AreSortedAndWrittenAlike) {
  CapturedMachine machine;
  machine.write("facts", "gpu dev=1 busid=1C:00.0 sm=80 gdr=0\ngpu dev=0 busid=0000:1B:00.0 sm=80");
  EXPECT_EQ(writeGpuFacts(capturedGpus(machine.root() / "facts")->read().gpus),
            "gpu dev=0 busid=0000:1b:00.0 sm=80 gdr=1\ngpu dev=1 busid=0000:1c:00.0 sm=80 gdr=0\n");
}

TEST(CapturedGpus, SaysWhatIsWrongWithALine) {
  const auto refuses = [](const std::string& text, const char* message) {
    CapturedMachine machine;
    machine.write("facts", text);
    const auto source = capturedGpus(machine.root() / "facts");
    EXPECT_THAT([&] { source->read(); }, ThrowsMessage<InputError>(HasSubstr(message))) << text;
  };
  refuses("gpu dev=0 sm=80", "facts:1: found gpu without `busid`");
  refuses("gpu dev=0 busid=: sm=80", "a bus id such as");
  refuses("gpu dev=0 busid=1b:00.0 sm=new", "found sm=new");
  refuses("nvlink target=1b:00.0 count=1", "a line `gpu");
  refuses("gpu dev=0 busid=1b:00.0 sm=80\nlink up", "facts:2: found `up`");
  refuses("gpu dev=0 busid=1b:00.0 sm=80\npci id=10de:2330 generation=5 width=16", "found id=10de:2330");
  refuses("gpu dev=0 busid=1b:00.0 sm=80\npci id=1:2:3:4 generation=x width=16", "found generation=x");
  refuses("gpu dev=0 busid=1b:00.0 sm=80\nlink", "facts:2: found `link`");
}

}  // namespace
}  // namespace xylem::topology
