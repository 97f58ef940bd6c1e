#pragma once
// Memory of a GPU that the GPUs of other ranks of the host reach: those of this process by its address, those of other processes by a
// name. The name is that of a file, which the driver makes (its cuMem functions) and the process that has the memory gives to those that
// ask, if NCCL_CUMEM_ENABLE=1; or it is a handle of CUDA IPC.
//
//   const std::shared_ptr<SharedGpuMemory> memory = SharedGpuMemory::make(gpu, bytes, "a queue", Sharers::kProcesses);
//   if (const std::optional<MemoryName> name = memory->name()) ...
//   NamedMemory same = memoryByName(gpu, *name);                         // in another process

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/gpu/gpu_context.h"
#include "runtime/transport/session/given_file.h"

namespace xylem::gpu {

// As one rank gives it to another: its bytes alone.
struct MemoryName {
  enum class By : std::uint64_t { kNothing, kIpc, kFile } by;
  std::array<std::byte, 72> value;  // an IpcHandle, or a file's name and size
};

enum class Sharers { kThisProcess, kProcesses };

class SharedGpuMemory {
 public:
  // All zeros. It goes with the last that has it. Throws Error (ncclUnhandledCudaError) if the driver has no memory, or fails.
  static std::shared_ptr<SharedGpuMemory> make(const GpuContext& gpu, std::size_t bytes,
                                               std::string_view what, Sharers sharers);
  // That at an address of this process; null if it is gone.
  static std::shared_ptr<SharedGpuMemory> at(std::uintptr_t address);

  SharedGpuMemory(const GpuContext& gpu, std::size_t bytes, std::string_view what, Sharers sharers);

  std::byte* data() const { return memory_.data(); }
  // Nothing if it is for this process alone, or the driver lets no other reach it.
  const std::optional<MemoryName>& name() const { return name_; }

 private:
  void makeFile(const GpuContext& gpu, std::size_t bytes, std::string_view what);

  GpuMemory memory_;
  std::unique_ptr<transport::GivenFile> file_;  // opens the memory, and so ends before it
  std::optional<MemoryName> name_;
};

struct NamedMemory {
  std::shared_ptr<std::byte> memory;  // null: the GPU does not reach it
  std::string why;                    // then, if that is known
};
// Memory of another process of the host.
NamedMemory memoryByName(const GpuContext& gpu, const MemoryName& name);

}  // namespace xylem::gpu
