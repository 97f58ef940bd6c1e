#include "runtime/gpu/shared_memory.h"

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace xylem::gpu {
namespace {

// A process that lives asks its driver for the file, and the driver may be busy.
constexpr std::chrono::seconds kFileWithin{10};

struct MemoryFile {
  transport::FileName name;
  std::uint64_t bytes;
};

template <typename Value>
MemoryName nameOf(MemoryName::By by, const Value& value) {
  MemoryName name{by, {}};
  static_assert(sizeof value <= sizeof name.value);
  std::memcpy(name.value.data(), &value, sizeof value);
  return name;
}
template <typename Value>
Value valueOf(const MemoryName& name) {
  Value value{};
  std::memcpy(static_cast<void*>(&value), name.value.data(), sizeof value);
  return value;
}

struct SharedMemories {
  std::mutex mutex;
  std::map<std::uintptr_t, std::weak_ptr<SharedGpuMemory>> byAddress;
};
SharedMemories& sharedMemories() {
  static SharedMemories* const all = new SharedMemories;  // communicators may outlive static objects
  return *all;
}

// The driver gets it back, by `release`, when the last lets go of it.
std::shared_ptr<std::byte> held(const GpuContext& gpu, void* memory, Status (*release)(void*),
                                std::size_t offset) {
  return {static_cast<std::byte*>(memory),
          [&driver = gpu.driver(), device = gpu.device(), release, offset](std::byte* opened) {
            if (driver.enter(device) != kDone) return;
            release(opened - offset);
            driver.leave();
          }};
}

// The driver makes another descriptor each time, so that none has to stay open. Invalid if it makes none.
FileDescriptor fileOf(const DriverTable& driver, int device, void* memory) {
  if (driver.enter(device) != kDone) return {};
  int descriptor = -1;
  const Status status = driver.openFile(memory, &descriptor);
  driver.leave();
  return FileDescriptor(status == kDone ? descriptor : -1);
}

NamedMemory memoryByIpc(const GpuContext& gpu, const IpcHandle& handle) {
  void* memory = nullptr;
  const EnteredDevice entered(gpu);
  if (const Status status = gpu.driver().importMemory(&handle, &memory); status != kDone)
    return {nullptr,
            fmt::format(
                "CUDA IPC: {}{}", gpu.driver().describe(status),
                gpu.facts().givesFiles == 0 ? "" : "; NCCL_CUMEM_ENABLE=1 shares memory as files instead")};
  return {held(gpu, memory, gpu.driver().closeMemory, handle.offset), {}};
}

NamedMemory memoryOfFile(const GpuContext& gpu, const MemoryFile& file) {
  FileDescriptor descriptor;
  try {
    descriptor = transport::takeFile(file.name, Deadline::after(kFileWithin));
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
  void* memory = nullptr;
  const EnteredDevice entered(gpu);
  if (const Status status = gpu.driver().mapFile(descriptor.get(), file.bytes, &memory); status != kDone)
    return {nullptr, fmt::format("mapping it: {}; NCCL_CUMEM_ENABLE=0 shares memory by CUDA IPC instead",
                                 gpu.driver().describe(status))};
  return {held(gpu, memory, gpu.driver().releaseFile, 0), {}};
}

}  // namespace

SharedGpuMemory::SharedGpuMemory(const GpuContext& gpu, std::size_t bytes, std::string_view what,
                                 Sharers sharers) {
  const DriverTable& driver = gpu.driver();
  const EnteredDevice entered(gpu);
  if (sharers == Sharers::kProcesses && gpu.givesFiles()) makeFile(gpu, bytes, what);
  if (!name_) memory_ = GpuMemory(gpu, GpuMemory::Where::kDevice, bytes, what);
  gpu.require(driver.clear(data(), bytes), "clearing memory");
  if (sharers == Sharers::kThisProcess || name_) return;
  IpcHandle handle{};
  if (driver.exportMemory(data(), &handle) == kDone) name_ = nameOf(MemoryName::By::kIpc, handle);
}

// Does nothing if the driver makes no file now: it may be able to, and not be allowed to. If there is no memory at all, none without a file can
// be had either.
void SharedGpuMemory::makeFile(const GpuContext& gpu, std::size_t bytes, std::string_view what) try {
  GpuMemory memory(gpu, GpuMemory::Where::kFile, bytes, what);
  if (!fileOf(gpu.driver(), gpu.device(), memory.data())) return;
  auto file =
      std::make_unique<transport::GivenFile>([&driver = gpu.driver(), device = gpu.device(),
                                              data = memory.data()] { return fileOf(driver, device, data); });
  name_ = nameOf(MemoryName::By::kFile, MemoryFile{file->name(), memory.size()});
  memory_ = std::move(memory);
  file_ = std::move(file);
} catch (const Error&) {
}

std::shared_ptr<SharedGpuMemory> SharedGpuMemory::make(const GpuContext& gpu, std::size_t bytes,
                                                       std::string_view what, Sharers sharers) {
  auto memory = std::make_shared<SharedGpuMemory>(gpu, bytes, what, sharers);
  SharedMemories& all = sharedMemories();
  const std::lock_guard lock(all.mutex);
  all.byAddress[reinterpret_cast<std::uintptr_t>(memory->data())] = memory;
  return memory;
}

std::shared_ptr<SharedGpuMemory> SharedGpuMemory::at(std::uintptr_t address) {
  SharedMemories& all = sharedMemories();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.byAddress, [](const auto& entry) { return entry.second.expired(); });
  const auto found = all.byAddress.find(address);
  return found == all.byAddress.end() ? nullptr : found->second.lock();
}

NamedMemory memoryByName(const GpuContext& gpu, const MemoryName& name) {
  switch (name.by) {
    case MemoryName::By::kIpc:
      return memoryByIpc(gpu, valueOf<IpcHandle>(name));
    case MemoryName::By::kFile:
      return memoryOfFile(gpu, valueOf<MemoryFile>(name));
    case MemoryName::By::kNothing:
      break;
  }
  return {nullptr, "it has no name"};
}

}  // namespace xylem::gpu
