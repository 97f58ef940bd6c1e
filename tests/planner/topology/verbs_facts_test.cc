// The sources of facts about RDMA devices: NVIDIA's libraries, as a stand-in for both, and a captured machine's file.
#include <gmock/gmock.h>

#include "core/error.h"
#include "planner/topology/captured_machine.h"
#include "planner/topology/detect_verbs.h"

namespace xylem::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using xylem::testing::CapturedMachine;

constexpr const char* kRdmaFacts =
    "rdma name=mlx5_0 direct=0000:05:00.0 dmabuf=1\n"
    "port number=1 speed=400000\n"
    "rdma name=mlx5_1 direct=0000:06:00.0 dmabuf=0\n"
    "rdma name=efa_0\n"
    "port number=1 speed=100000\n";

TEST(VerbsFacts, AreAskedOfTheLibraries) {
  EXPECT_EQ(writeRdmaFacts(verbsFacts({XYLEM_FAKE_VERBS, XYLEM_FAKE_VERBS})->read()), kRdmaFacts);
}

TEST(VerbsFacts, KnowNoDirectDevicesWithoutNvidiasLibrary) {
  EXPECT_EQ(writeRdmaFacts(verbsFacts({XYLEM_FAKE_VERBS, "libnone-such.so.1"})->read()),
            "rdma name=mlx5_0\nport number=1 speed=400000\nrdma name=efa_0\nport number=1 speed=100000\n");
}

TEST(VerbsFacts, AreNoneWithoutTheLibraries) {
  EXPECT_THAT(verbsFacts({"libnone-such.so.1", XYLEM_FAKE_VERBS})->read(), IsEmpty());
}

TEST(CapturedRdmaFacts, ReadWhatWasWritten) {
  CapturedMachine machine;
  EXPECT_THAT(rdmaFactsOf(machine.root())->read(), IsEmpty());
  machine.write(kCapturedRdmaFile, std::string("# three cards\n\n") + kRdmaFacts);
  EXPECT_EQ(writeRdmaFacts(rdmaFactsOf(machine.root())->read()), kRdmaFacts);
}

TEST(CapturedRdmaFacts, SayWhatIsWrongWithALine) {
  const auto refuses = [](const std::string& text, const char* message) {
    CapturedMachine machine;
    machine.write("facts", text);
    const auto source = capturedRdmaFacts(machine.root() / "facts");
    EXPECT_THAT([&] { source->read(); }, ThrowsMessage<InputError>(HasSubstr(message))) << text;
  };
  refuses("rdma direct=0000:05:00.0", "facts:1: found rdma without `name`");
  refuses("rdma name=mlx5_0 direct=:", "a bus id such as");
  refuses("port number=1 speed=400000", "a line `rdma name=…` first");
  refuses("rdma name=mlx5_0\nport number=1 speed=fast", "facts:2: found speed=fast");
  refuses("rdma name=mlx5_0\nnet speed=1", "rdma or port");
}

}  // namespace
}  // namespace xylem::topology
