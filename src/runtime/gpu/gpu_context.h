#pragma once
// One rank's use of a GPU: the driver's functions, with errors that name the rank and its device, and owners of what the driver
// gives out.
//
//   GpuContext gpu(driver, rank, device, settings);
//   DeviceMemory works(gpu, bytes);
//   gpu.checkStream(stream, "ncclAllReduce");

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "runtime/gpu/driver.h"

namespace xylem::gpu {

class GpuContext {
 public:
  // Throws Error (ncclUnhandledCudaError, ncclInvalidUsage) if the driver is too old, does not load the kernel, or has no such
  // device.
  GpuContext(const DriverTable& driver, int rank, int device, const Settings& settings);

  const DriverTable& driver() const { return driver_; }
  int rank() const { return rank_; }
  int device() const { return device_; }
  const DeviceFacts& facts() const { return facts_; }
  // Whether memory may be given to other processes as a file.
  bool givesFiles() const { return givesFiles_; }

  // Throws Error (ncclUnhandledCudaError) if `status` is none of success.
  void require(Status status, std::string_view what) const {
    if (status != kDone) fail(status, what);
  }
  [[noreturn]] void fail(Status status, std::string_view what) const;

  // DriverTable::streamNumber. The device is entered.
  std::uint64_t numberOf(void* stream) const {
    std::uint64_t number = 0;
    require(driver_.streamNumber(stream, &number), "asking for a stream's number");
    return number;
  }

  // Bad input of a call, with an Error (ncclInvalidArgument, ncclInvalidUsage) that says what is wrong:
  // a stream of another device;
  void checkStream(void* stream, const char* function) const;
  // a buffer that the device cannot reach, or that lies in another device's memory. Returns Place::peersReach.
  bool checkBuffer(const void* buffer, const char* function, const char* name) const;
  // The same without an answer, for little data: an address that was right lately is not looked up again. Threads that ask the driver at the
  // same time hold each other up, by a tenth of a small operation. If the address has become memory that the GPU does not reach since then, the
  // kernel fails instead of the call.
  void checkSmallBuffer(const void* buffer, const char* function, const char* name) const;

 private:
  std::string who() const;

  const DriverTable& driver_;
  const int rank_;
  const int device_;
  DeviceFacts facts_{};
  bool givesFiles_ = false;
  mutable std::array<std::atomic<const void*>, 16> rightBuffers_{};
};

// Makes the device the thread's own for a while. Entering takes the driver four calls, so a thread that has entered the device does it once.
class EnteredDevice {
 public:
  explicit EnteredDevice(const GpuContext& gpu);
  ~EnteredDevice();
  EnteredDevice(const EnteredDevice&) = delete;
  EnteredDevice& operator=(const EnteredDevice&) = delete;

 private:
  const GpuContext& gpu_;
  const std::pair<const DriverTable*, int> before_;  // the device that the thread had entered
};

// Memory of the device, which may be a file for other processes (shared_memory.h), or pinned memory of the host, which both reach.
class GpuMemory {
 public:
  enum class Where { kDevice, kFile, kHost };
  GpuMemory() = default;
  GpuMemory(const GpuContext& gpu, Where where, std::size_t bytes, std::string_view what);
  ~GpuMemory();
  GpuMemory(GpuMemory&& other) noexcept { swap(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  // A file may be larger than what was asked for.
  std::size_t size() const { return bytes_; }
  Where where() const { return where_; }

 private:
  void swap(GpuMemory& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(device_, other.device_);
    std::swap(where_, other.where_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  const DriverTable* driver_ = nullptr;
  int device_ = 0;
  Where where_ = Where::kDevice;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class GpuEvent {
 public:
  explicit GpuEvent(const GpuContext& gpu);
  ~GpuEvent();
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  void record(void* stream) { gpu_.require(gpu_.driver().recordEvent(event_, stream), "recording an event"); }
  void hold(void* stream) { gpu_.require(gpu_.driver().awaitEvent(stream, event_), "ordering two streams"); }
  // Whether the stream has passed it. Throws if a kernel before it has failed.
  bool isOver() const;

 private:
  const GpuContext& gpu_;
  void* event_ = nullptr;
};

// Memory of the host that GPUs reach while this exists. Ranks of one process may have the same memory.
class RegisteredMemory {
 public:
  RegisteredMemory(const GpuContext& gpu, void* memory, std::size_t bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

 private:
  const GpuContext& gpu_;
  void* memory_;
};

}  // namespace xylem::gpu
