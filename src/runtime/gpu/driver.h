#pragma once
// The functions that Xylem needs of the driver of a GPU, as a table. libxylem contains no implementation: libxylem-cuda.so has one
// over NVIDIA's driver (cuda/), and the tests have one whose GPUs are threads of the CPU.
//
//   const DriverTable* driver = driverOfThread(settings);           // null: the thread's device is a host device
//   GpuContext gpu({*driver, rank, device, settings});                        // gpu_context.h: the same with C++'s errors and owners
//
// Every function returns 0, or the driver's own number of an error. A function without a device as parameter concerns the
// device that the thread has entered. Handles of streams are those of the program: cudaStream_t is the driver's CUstream.

#include <cstddef>
#include <cstdint>

#include "core/settings.h"
#include "runtime/gpu/work.h"

namespace xylem::gpu {

using Status = int;
constexpr Status kDone = 0;

struct DeviceFacts {
  char name[128];
  char busId[16];          // of the PCI bus, as 0000:1b:00.0; empty: the GPU is on none
  std::uint64_t identity;  // of the GPU, whatever number a process gives it; never 0
  std::uint64_t memoryBytes;
  int residentBlocks;       // blocks of the kernel that it executes at the same time
  int readsAnyHostMemory;   // 1: also memory of the host that is not registered
  int sharesHostAddresses;  // 1: registered memory of the host has the same address on the GPU
  int exportsDmaBuf;        // 1: exportDmaBuf can be used
  int givesFiles;           // 1: allocateFile, openFile and mapFile can be used
};

enum class PlaceKind : int { kHost, kRegisteredHost, kDevice, kManaged };
struct Place {
  PlaceKind kind;
  int device;      // of device memory
  int peersReach;  // 1: other GPUs reach it from this process if they reach the device's memory at all
};

// Memory of a device, for another process of the host, by CUDA IPC.
struct IpcHandle {
  std::byte bytes[64];   // of the driver, for the allocation that holds it
  std::uint64_t offset;  // in that
};

struct LaunchTable {
  const std::byte* begin;      // in memory that the device reaches, ...
  const InlineTable* inlined;  // ... unless it is this one, which is read before the call returns
  std::size_t recordBytes;
  int lanes;
};

struct DriverTable {
  int abi;            // kDriverAbi
  int driverVersion;  // 12040 for CUDA 12.4
  int builtVersion;   // of the CUDA that has compiled the kernel
  int oldestVersion;  // of the oldest driver with which the kernel can be used
  Status notReady;    // of queryEvent
  Status outOfMemory;
  const char* (*describe)(Status status);

  Status (*countDevices)(int* count);
  Status (*currentDevice)(int* device);  // of the calling thread
  // The first steps of facts() and enter() by themselves, so that an error can say which of them has failed. If the program has reset the
  // device, openDevice makes it usable again; what was in its memory is gone.
  Status (*openDevice)(int device);
  Status (*loadKernel)(int device);  // after openDevice
  Status (*facts)(int device, DeviceFacts* facts);
  // Until leave(), in the same thread. Memory and events may then be used although some stream is captured into a graph.
  Status (*enter)(int device);
  Status (*leave)();

  Status (*allocate)(void** memory, std::size_t bytes);  // of the device
  Status (*release)(void* memory);
  Status (*allocateHost)(void** memory, std::size_t bytes);  // of the host, pinned, zeroed
  Status (*releaseHost)(void* memory);
  Status (*registerHost)(void* memory, std::size_t bytes);  // pins whole pages, for all devices
  Status (*unregisterHost)(void* memory);
  Status (*clear)(void* memory, std::size_t bytes);  // of the device; over when it returns
  // Lets the entered device reach the memory of another one of this process. An error if it cannot.
  Status (*reachPeer)(int device);
  Status (*exportMemory)(void* memory, IpcHandle* handle);
  Status (*importMemory)(const IpcHandle* handle, void** memory);  // of another process
  Status (*closeMemory)(void* allocation);  // that was imported: its address less the offset
  // Memory of the device that is a file for other processes. `bytes` becomes the size of all of it, which is what they map. In this process the
  // devices that reach the device's memory reach it, too.
  Status (*allocateFile)(void** memory, std::size_t* bytes);
  Status (*openFile)(void* memory, int* descriptor);  // the caller closes it
  Status (*mapFile)(int descriptor, std::size_t bytes,
                    void** memory);     // of another process, for the entered device
  Status (*releaseFile)(void* memory);  // of allocateFile or mapFile
  // A descriptor by which a network card can be given whole pages of the device's memory; the caller closes it.
  Status (*exportDmaBuf)(void* memory, std::size_t bytes, int* descriptor);
  Status (*lookUp)(const void* address, Place* place);
  Status (*copy)(void* to, const void* from, std::size_t bytes, void* stream);  // in stream order

  Status (*streamDevice)(void* stream, int* device);
  // A number that no other stream of the process gets. A handle does: that of a stream which was destroyed, and threads' own default streams
  // have one in common.
  Status (*streamNumber)(void* stream, std::uint64_t* number);
  Status (*captureOf)(void* stream, std::uint64_t* capture);  // 0: the stream is not captured
  // Calls `function` when every graph, and every instance of one, that the stream's capture becomes is gone; before it returns an error.
  Status (*keepForGraph)(void* stream, void (*function)(void*), void* data);
  Status (*synchronize)();  // with all that the entered device has to do
  Status (*makeEvent)(void** event);
  Status (*destroyEvent)(void* event);
  Status (*recordEvent)(void* event, void* stream);
  Status (*awaitEvent)(void* stream, void* event);  // the stream waits
  Status (*queryEvent)(void* event);                // kDone, or notReady
  // Wait until a counter in the device's memory has come to `count`, or has passed it by less than 2^31: the stream, and the caller.
  Status (*awaitCount)(void* stream, const std::uint32_t* counter, std::uint32_t count);
  Status (*awaitCountHere)(const std::uint32_t* counter, std::uint32_t count);

  Status (*callHost)(void* stream, void (*function)(void*), void* data);  // in stream order

  // The kernel of the entered device: a block for each lane of a table (work.h).
  Status (*launch)(const LaunchTable& table, void* stream);
};
constexpr int kDriverAbi = 12;

// The driver of the calling thread's device if that is a GPU. XYLEM_DEVICE decides; with `auto` it is a GPU if the program has
// loaded NVIDIA's driver and one of its contexts is current in this thread, and always in libnccl.so.2 for GPUs (as-nccl-gpu). Throws Error if the device has to be a GPU, but
// cannot be used, with the reason.
const DriverTable* driverOfThread(const Settings& settings);

// The stream that is another one in each thread (cudaStreamPerThread).
inline void* const kThreadsOwnStream = reinterpret_cast<void*>(2);

// For tests: this driver instead; null for none.
void useDriver(const DriverTable* driver);

}  // namespace xylem::gpu
