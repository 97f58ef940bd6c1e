#pragma once
// The memory that programs have allocated or registered, by address: tells what any pointer points into.
//
//   AllocationTable& table = AllocationTable::instance();
//   void* memory = table.allocate({.type = cudaMemoryTypeDevice, .device = 0}, bytes);
//   const std::size_t allocated = table.find(memory)->bytes;
//   table.free(memory, AllocationTable::kOfDevice);
//
// The memory itself comes from allocateMemory (runtime/device/host_device.h).

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "host/cuda_runtime.h"

namespace xylem::cuda_api {

struct Allocation {
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;
  unsigned flags = 0;       // of host memory, as the program gave them
  bool registered = false;  // the program's own memory, given to cudaHostRegister
  std::byte* start = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;                 // unique; addresses are used again
  std::shared_ptr<void> charge = nullptr;   // of the memory pool from which it comes
  std::uint64_t sharedPool = 0;             // that pool's number, if processes share it
  std::shared_ptr<void> mapping = nullptr;  // another process's memory: gone when it is freed
};

class AllocationTable {
 public:
  static AllocationTable& instance();
  AllocationTable() = default;
  AllocationTable(const AllocationTable&) = delete;
  AllocationTable& operator=(const AllocationTable&) = delete;

  // Null for 0 bytes. Throws Error if there is not enough memory.
  void* allocate(Allocation kind, std::size_t bytes);
  // Adds registered memory, or memory of another process. False if some of it is registered or allocated already.
  bool add(Allocation foreign);
  // The allocation into which a pointer points.
  std::optional<Allocation> find(const void* memory) const;
  // The allocation that starts at `memory`.
  std::optional<Allocation> startingAt(const void* memory) const;

  // The kinds that cudaFree, cudaFreeHost and cudaHostUnregister take.
  enum Kind { kOfDevice, kOfHost, kRegistered };
  static bool is(const Allocation& allocation, Kind kind);
  // False if no allocation of that kind, and of that number unless that is 0, starts at `memory`.
  bool free(void* memory, Kind kind, std::uint64_t number = 0);

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, Allocation> all_;  // by start; never overlapping
  std::uint64_t last_ = 0;
};

}  // namespace xylem::cuda_api
