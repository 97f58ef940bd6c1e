// libxylem-cuda.so over a stand-in for NVIDIA's driver (fake/): what it makes of the driver's answers, and what it asks for. Each test is a
// process of its own, as a process loads one driver.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/settings.h"
#include "runtime/gpu/block.h"
#include "runtime/gpu/driver.h"
#include "runtime/gpu_driver/fake/fake_cuda.h"

namespace xylem::gpu {
namespace {

using testing::FakeCuda;
using ::testing::HasSubstr;

template <typename Function>
Function* symbolOf(const char* library, const char* name) {
  void* const loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  return reinterpret_cast<Function*>(dlsym(loaded, name));
}

FakeCuda& loadFake(const char* variant) { return *symbolOf<FakeCuda*()>(variant, "fakeCuda")(); }

const DriverTable* openDriver(std::string& reason) {
  const char* text = "";
  const DriverTable* const table =
      symbolOf<const DriverTable*(const char**)>(XYLEM_CUDA_LIBRARY, "xylemCudaDriver")(&text);
  reason = text;
  return table;
}

// Runs the checks in a process that has the driver.
void inOwnProcess(
    const char* variant, const std::function<void(FakeCuda&, const DriverTable*, const std::string&)>& checks,
    const std::function<void(FakeCuda&)>& before = [](FakeCuda&) {}) {
  EXPECT_EXIT(
      {
        FakeCuda& fake = loadFake(variant);
        before(fake);
        std::string reason;
        const DriverTable* const table = openDriver(reason);
        checks(fake, table, reason);
        std::fflush(nullptr);
        std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}
void withDriver(const std::function<void(FakeCuda&, const DriverTable&)>& checks) {
  inOwnProcess(XYLEM_NEW_CUDA, [&](FakeCuda& fake, const DriverTable* table, const std::string& reason) {
    ASSERT_NE(table, nullptr) << reason;
    checks(fake, *table);
  });
}

class CudaDriver : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CudaDriver, SaysWhyItCannotBeUsed) {
  inOwnProcess(XYLEM_OLD_CUDA, [](FakeCuda&, const DriverTable* table, const std::string& reason) {
    EXPECT_EQ(table, nullptr);
    EXPECT_EQ(reason, "NVIDIA's driver is too old: it has no cuStreamGetId");
  });
  inOwnProcess(XYLEM_OWN_CUDA, [](FakeCuda&, const DriverTable* table, const std::string& reason) {
    EXPECT_EQ(table, nullptr);
    EXPECT_THAT(reason, HasSubstr("libcuda.so.1 is Xylem's own one for host devices"));
  });
  inOwnProcess(
      XYLEM_NEW_CUDA,
      [](FakeCuda&, const DriverTable* table, const std::string& reason) {
        EXPECT_EQ(table, nullptr);
        EXPECT_EQ(reason, "cuInit failed: no GPU in here");
      },
      [](FakeCuda& fake) { fake.initStatus = CUDA_ERROR_NO_DEVICE; });
}

TEST_F(CudaDriver, IsThatOfThreadsWithAContext) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    const auto driverFor = [](const char* device) {
      return driverOfThread(Settings::fromPairs({{"XYLEM_DEVICE", device}}));
    };
    EXPECT_EQ(driverFor("auto"), nullptr);
    EXPECT_EQ(driverFor("gpu"), &table);
    fake.contexts.push_back(FakeCuda::contextOf(0));
    EXPECT_EQ(driverFor("auto"), &table);
    EXPECT_EQ(driverFor("host"), nullptr);
  });
  inOwnProcess(XYLEM_OLD_CUDA, [](FakeCuda&, const DriverTable*, const std::string&) {
    try {
      driverOfThread(Settings::fromPairs({{"XYLEM_DEVICE", "gpu"}}));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_STREQ(
          error.what(),
          "the device is a GPU, but libxylem-cuda.so cannot use it: NVIDIA's driver is too old: it has no "
          "cuStreamGetId. XYLEM_DEVICE=host uses host devices");
    }
  });
}

TEST_F(CudaDriver, DescribesDevices) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    EXPECT_EQ(table.abi, kDriverAbi);
    EXPECT_EQ(table.driverVersion, 12040);
    DeviceFacts first{}, second{};
    ASSERT_EQ(table.facts(0, &first), kDone);
    ASSERT_EQ(table.facts(1, &second), kDone);
    ASSERT_EQ(table.facts(1, &second), kDone);
    EXPECT_EQ(fake.modulesLoaded, 2) << "once for each device";
    EXPECT_EQ(fake.kernelName, "xylemRunLanes");
    EXPECT_STREQ(first.name, "fake 0");
    EXPECT_STREQ(second.busId, "0000:43:00.0");
    EXPECT_NE(first.identity, 0u) << "though its UUID is zeros";
    EXPECT_NE(first.identity, second.identity);
    EXPECT_EQ(first.memoryBytes, std::uint64_t{80} << 30);
    EXPECT_EQ(first.residentBlocks, FakeCuda::kProcessors * FakeCuda::kBlocksEach);
    EXPECT_EQ(first.sharesHostAddresses, 1);
    EXPECT_EQ(first.readsAnyHostMemory, 0);
    EXPECT_TRUE(fake.contexts.empty());
    EXPECT_NE(table.facts(2, &second), kDone);
    int device = -1;
    EXPECT_EQ(table.currentDevice(&device), kDone);
    EXPECT_EQ(device, 0) << "of a thread without a context";
  });
}

// Devices are entered in any order, whichever the thread has and whether it captures.
TEST_F(CudaDriver, LeavesTheThreadAsItWas) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    fake.contexts.push_back(FakeCuda::contextOf(1));
    fake.captureMode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ASSERT_EQ(table.enter(0), kDone);
    EXPECT_EQ(fake.contexts.back(), FakeCuda::contextOf(0));
    EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_RELAXED);
    ASSERT_EQ(table.enter(1), kDone);
    EXPECT_EQ(table.leave(), kDone);
    EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(table.leave(), kDone);
    EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(fake.contexts, std::vector{FakeCuda::contextOf(1)});
    EXPECT_NE(table.enter(5), kDone);
    EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(fake.contexts.size(), 1u);
    // A stream of another device.
    int device = -1;
    EXPECT_EQ(table.streamDevice(reinterpret_cast<void*>(0x10), &device), kDone);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(table.streamDevice(CU_STREAM_PER_THREAD, &device), kDone);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(fake.contexts.size(), 1u);
  });
}

// Another thread may capture a stream while this one uses the device for the first time.
TEST_F(CudaDriver, RelaxesTheCaptureBeforeItLoadsTheKernel) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    DeviceFacts facts{};
    for (const CUstreamCaptureMode mode :
         {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
      fake.captureMode = mode;
      fake.loadStatus = CUDA_ERROR_OUT_OF_MEMORY;
      EXPECT_EQ(table.enter(0), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(fake.captureMode, mode);
      EXPECT_EQ(table.facts(1, &facts), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(fake.captureMode, mode);
    }
    EXPECT_TRUE(fake.contexts.empty());
    fake.loadStatus = CUDA_SUCCESS;
    fake.captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    EXPECT_EQ(table.facts(1, &facts), kDone);
    EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(table.enter(0), kDone);
    EXPECT_EQ(table.leave(), kDone);
    EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(fake.modulesLoaded, 2);
  });
}

// Drivers refuse what a newer major version has compiled.
TEST_F(CudaDriver, KnowsWhichDriversLoadTheKernel) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    EXPECT_EQ(table.builtVersion, CUDA_VERSION);
    EXPECT_EQ(table.oldestVersion, CUDA_VERSION / 1000 * 1000);
    EXPECT_GE(table.oldestVersion, 12000);
    fake.loadStatus = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    EXPECT_EQ(table.openDevice(0), kDone);
    EXPECT_EQ(table.loadKernel(0), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    EXPECT_EQ(table.openDevice(2), CUDA_ERROR_INVALID_DEVICE);
    fake.loadStatus = CUDA_SUCCESS;
    EXPECT_EQ(table.loadKernel(0), kDone);
    EXPECT_EQ(table.loadKernel(0), kDone);
    EXPECT_EQ(fake.modulesLoaded, 1);
    EXPECT_TRUE(fake.contexts.empty());
    EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  });
}

// With cudaDeviceReset, after which the program may have used the device before a communicator is made.
TEST_F(CudaDriver, LoadsTheKernelAgainAfterTheProgramHasResetTheDevice) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    const InlineTable inlined{};
    const auto launched = [&] {
      EXPECT_EQ(table.enter(1), kDone);
      EXPECT_EQ(table.launch({.begin = nullptr, .inlined = &inlined, .recordBytes = 96, .lanes = 1}, nullptr),
                kDone);
      EXPECT_EQ(table.leave(), kDone);
      return fake.launch.kernel;
    };
    const auto open = [&] {
      EXPECT_EQ(table.openDevice(1), kDone);
      EXPECT_EQ(table.loadKernel(1), kDone);
      EXPECT_EQ(fake.captureMode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    };
    fake.activate(1);  // by the program
    for (int i = 0; i < 3; ++i) open();
    EXPECT_EQ(fake.modulesLoaded, 1);
    EXPECT_EQ(fake.primaries[1].retained, 2) << "once for all communicators";
    EXPECT_EQ(launched(), FakeCuda::kernelOf(1));
    fake.reset(1);
    for (int i = 0; i < 2; ++i) open();
    EXPECT_EQ(launched(), FakeCuda::kernelOf(2));
    fake.reset(1);
    fake.activate(1);  // the handle is the same
    for (int i = 0; i < 2; ++i) open();
    EXPECT_EQ(launched(), FakeCuda::kernelOf(3));
    EXPECT_EQ(fake.modulesLoaded, 3);
    EXPECT_TRUE(fake.primaries[1].isActive);
    EXPECT_TRUE(fake.contexts.empty());
    // One that was never opened by itself.
    ASSERT_EQ(table.enter(0), kDone);
    EXPECT_EQ(table.leave(), kDone);
    EXPECT_EQ(table.openDevice(0), kDone);
    EXPECT_EQ(fake.modulesLoaded, 4);
    EXPECT_EQ(fake.primaries[0].retained, 1);
  });
}

// The driver cuts memory out of larger allocations, of which its handles are.
TEST_F(CudaDriver, GivesMemoryToOtherProcessesByItsPlaceInTheAllocation) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    void *memory = nullptr, *opened = nullptr, *onHost = nullptr;
    ASSERT_EQ(table.allocate(&memory, 4096), kDone);
    IpcHandle handle{};
    ASSERT_EQ(table.exportMemory(static_cast<std::byte*>(memory) + 512, &handle), kDone);
    EXPECT_EQ(handle.offset, 512u);
    ASSERT_EQ(table.importMemory(&handle, &opened), kDone);
    EXPECT_EQ(opened, static_cast<std::byte*>(memory) + 512);
    EXPECT_EQ(table.closeMemory(static_cast<std::byte*>(opened) - handle.offset), kDone);
    EXPECT_EQ(fake.closed, std::vector{reinterpret_cast<CUdeviceptr>(memory)});
    EXPECT_EQ(table.release(memory), kDone);
    ASSERT_EQ(table.allocateHost(&onHost, 64), kDone);
    EXPECT_EQ(std::count(static_cast<char*>(onHost), static_cast<char*>(onHost) + 64, 0), 64);
    EXPECT_EQ(table.releaseHost(onHost), kDone);
  });
}

TEST_F(CudaDriver, MakesMemoryThatIsAFile) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    DeviceFacts facts{};
    ASSERT_EQ(table.facts(1, &facts), kDone);
    EXPECT_EQ(facts.givesFiles, 1);
    fake.makesFiles = 0;
    ASSERT_EQ(table.facts(1, &facts), kDone);
    EXPECT_EQ(facts.givesFiles, 0);

    ASSERT_EQ(table.enter(1), kDone);
    void *memory = nullptr, *same = nullptr;
    std::size_t bytes = 5000;
    ASSERT_EQ(table.allocateFile(&memory, &bytes), kDone);
    EXPECT_EQ(bytes, FakeCuda::kWhole);
    EXPECT_EQ(fake.properties.location.id, 1);
    EXPECT_EQ(fake.properties.allocFlags.gpuDirectRDMACapable, 1);
    EXPECT_THAT(fake.reachedBy[reinterpret_cast<CUdeviceptr>(memory)], ::testing::ElementsAre(0, 1));
    ASSERT_EQ(table.clear(memory, bytes), kDone);

    int descriptor = -1;
    ASSERT_EQ(table.openFile(memory, &descriptor), kDone);
    EXPECT_NE(table.openFile(&bytes, &descriptor), kDone) << "of no such memory";
    ASSERT_EQ(table.mapFile(descriptor, bytes, &same), kDone);
    close(descriptor);
    EXPECT_THAT(fake.reachedBy[reinterpret_cast<CUdeviceptr>(same)], ::testing::ElementsAre(1));
    static_cast<int*>(memory)[bytes / sizeof(int) - 1] = 42;
    EXPECT_EQ(static_cast<int*>(same)[bytes / sizeof(int) - 1], 42);
    EXPECT_EQ(table.releaseFile(memory), kDone);
    EXPECT_NE(table.releaseFile(memory), kDone) << "it is gone";
    EXPECT_EQ(static_cast<int*>(same)[bytes / sizeof(int) - 1], 42) << "the other one still has it";
    EXPECT_EQ(table.releaseFile(same), kDone);
  });
}

TEST_F(CudaDriver, KeepsNothingOfMemoryThatNoDeviceReaches) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    ASSERT_EQ(table.enter(0), kDone);
    fake.canReachPeers = 0;
    void *memory = nullptr, *refused = nullptr;
    std::size_t bytes = 1;
    ASSERT_EQ(table.allocateFile(&memory, &bytes), kDone);
    EXPECT_THAT(fake.reachedBy[reinterpret_cast<CUdeviceptr>(memory)], ::testing::ElementsAre(0));
    int descriptor = -1;
    ASSERT_EQ(table.openFile(memory, &descriptor), kDone);
    fake.accessStatus = CUDA_ERROR_NOT_PERMITTED;
    EXPECT_EQ(table.mapFile(descriptor, bytes, &refused), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(table.allocateFile(&refused, &bytes), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(table.releaseFile(memory), kDone);
    EXPECT_TRUE(fake.allocations.empty());
    EXPECT_TRUE(fake.reserved.empty());
    EXPECT_TRUE(fake.reachedBy.empty());
    EXPECT_NE(table.mapFile(-1, bytes, &refused), kDone);
  });
}

TEST_F(CudaDriver, ReachesPeersThatTheDriverLetsItReach) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    ASSERT_EQ(table.enter(0), kDone);
    EXPECT_EQ(table.reachPeer(0), kDone);
    EXPECT_EQ(table.reachPeer(1), kDone);
    EXPECT_EQ(table.reachPeer(1), kDone) << "again";
    fake.canReachPeers = 0;
    EXPECT_EQ(table.reachPeer(1), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  });
}

TEST_F(CudaDriver, KnowsWhereMemoryLies) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    const auto placeOf = [&](const FakeCuda::Attributes& attributes) {
      fake.pointer = attributes;
      Place place{};
      EXPECT_EQ(table.lookUp(&place, &place), kDone);
      return place;
    };
    EXPECT_EQ(placeOf({}).kind, PlaceKind::kHost);
    EXPECT_EQ(placeOf({.type = CU_MEMORYTYPE_HOST}).kind, PlaceKind::kRegisteredHost);
    const Place own = placeOf({.type = CU_MEMORYTYPE_DEVICE, .device = 1, .legacy = 1});
    EXPECT_EQ(own.kind, PlaceKind::kDevice);
    EXPECT_EQ(own.device, 1);
    EXPECT_EQ(own.peersReach, 1);
    EXPECT_EQ(placeOf({.type = CU_MEMORYTYPE_DEVICE, .device = 1}).peersReach, 0) << "as of a pool";
    EXPECT_EQ(placeOf({.type = CU_MEMORYTYPE_DEVICE, .device = 0, .managed = 1}).kind, PlaceKind::kManaged);
  });
}

// The function is called once, whatever fails.
TEST_F(CudaDriver, KeepsLaunchesForGraphs) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    std::uint64_t capture = 1;
    int called = 0;
    const auto keep = [&] {
      return table.keepForGraph(
          nullptr, [](void* count) { ++*static_cast<int*>(count); }, &called);
    };
    EXPECT_EQ(table.captureOf(nullptr, &capture), kDone);
    EXPECT_EQ(capture, 0u);
    EXPECT_NE(keep(), kDone) << "nothing is captured";
    EXPECT_EQ(std::exchange(called, 0), 1);
    fake.captureStatus = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    EXPECT_EQ(table.captureOf(nullptr, &capture), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_NE(keep(), kDone);
    EXPECT_EQ(std::exchange(called, 0), 1);
    fake.captureStatus = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    EXPECT_EQ(table.captureOf(nullptr, &capture), kDone);
    EXPECT_EQ(capture, 77u);
    EXPECT_EQ(keep(), kDone);
    EXPECT_EQ(called, 0) << "the graph calls it";
    EXPECT_EQ(fake.objectsRetained, 1);
    fake.retainStatus = CUDA_ERROR_OUT_OF_MEMORY;
    EXPECT_EQ(keep(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(called, 1);
  });
}

TEST_F(CudaDriver, LaunchesTablesAsParametersAndInMemory) {
  withDriver([](FakeCuda& fake, const DriverTable& table) {
    auto* const stream = reinterpret_cast<void*>(0x10);
    InlineTable inlined{};
    inlined.bytes[0] = std::byte{42};
    const LaunchTable small{.begin = nullptr, .inlined = &inlined, .recordBytes = 96, .lanes = 3};
    EXPECT_EQ(table.launch(small, stream), CUDA_ERROR_INVALID_CONTEXT) << "no device is entered";
    ASSERT_EQ(table.enter(1), kDone);
    ASSERT_EQ(table.launch(small, stream), kDone);
    EXPECT_EQ(fake.launch.blocks, 3u);
    EXPECT_EQ(fake.launch.threads, static_cast<unsigned>(kBlockThreads));
    EXPECT_EQ(fake.launch.begin, nullptr);
    EXPECT_EQ(fake.launch.recordBytes, 96u);
    EXPECT_EQ(fake.launch.firstInlined, 42);
    EXPECT_EQ(fake.launch.stream, stream);
    std::byte large[16]{};
    ASSERT_EQ(table.launch({.begin = large, .inlined = nullptr, .recordBytes = 8, .lanes = 2}, stream),
              kDone);
    EXPECT_EQ(fake.launch.begin, large);
    EXPECT_EQ(fake.launch.blocks, 2u);
    std::uint64_t number = 0;
    EXPECT_EQ(table.streamNumber(stream, &number), kDone);
    EXPECT_EQ(number, 0x11u);
    const std::uint32_t counter = 0;
    ASSERT_EQ(table.awaitCount(stream, &counter, 9), kDone);
    EXPECT_EQ(fake.wait.address, reinterpret_cast<CUdeviceptr>(&counter));
    EXPECT_EQ(fake.wait.value, 9u);
    EXPECT_EQ(fake.wait.flags, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ));
    EXPECT_EQ(table.queryEvent(nullptr), table.notReady);
  });
}

}  // namespace
}  // namespace xylem::gpu
