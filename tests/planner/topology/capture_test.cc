// A machine that was copied is the same machine.
#include <gmock/gmock.h>

#include "planner/topology/detect.h"
#include "planner/topology/detect_capture.h"
#include "planner/topology/machine_recipe.h"

namespace xylem {
namespace {

using testing::CapturedMachine;

std::string describe(const std::filesystem::path& root, bool gpus) {
  const auto source = gpuSourceOf(root);
  DetectOptions options;
  options.root = root;
  if (gpus) options.gpus = source.get();
  return writeTopology(detectTopology(options));
}

class CaptureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CaptureTest, ReplaysAsTheMachineItself) {
  CapturedMachine machine;
  buildMachine(machine, testing::readMachineFile(GetParam(), ".txt"));
  machine.write("proc/sys/kernel/hostname", "node7");
  const CapturedMachine folder;
  captureMachine(machine.root(), gpuSourceOf(machine.root())->read().gpus, folder.root());
  for (const bool gpus : {true, false})
    EXPECT_EQ(describe(folder.root(), gpus), describe(machine.root(), gpus));
}

INSTANTIATE_TEST_SUITE_P(Machines, CaptureTest,
                         ::testing::Values("two-sockets-with-switches", "virtual-machine-with-vfs",
                                           "card-without-numa-node", "missing-link-speeds", "grace-hopper",
                                           "container-with-half-the-gpus", "dual-port-card"));

TEST(Capture, OfThisMachineCanBeDescribed) {
  const CapturedMachine folder;
  captureMachine("/", {}, folder.root());
  const std::string text = describe(folder.root(), false);
  EXPECT_EQ(writeTopology(parseTopology(text, "replayed")), text);
}

TEST(Capture, DoesNotOverwrite) {
  CapturedMachine folder;
  folder.write("notes", "mine");
  EXPECT_THROW(captureMachine("/", {}, folder.root()), Error);
  EXPECT_THROW(captureMachine("/", {}, folder.root() / "notes"), Error);
}

}  // namespace
}  // namespace xylem
