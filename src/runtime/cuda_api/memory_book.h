#pragma once
// The memory that programs got from us or told us about, so that any pointer can be told what it points into.
//
//   MemoryBook& book = MemoryBook::instance();
//   void* memory = book.allocate({.type = cudaMemoryTypeDevice, .device = 0}, bytes);
//   book.find(memory)->bytes
//   book.free(memory, MemoryBook::kOfDevice)   ->   false if it is not from there
//
// The memory itself comes from allocateMemory (runtime/device/host_device.h).

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "host/cuda_runtime.h"

namespace xylem {

struct Allocation {
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;
  unsigned flags = 0;       // as the program gave them, of host memory
  bool registered = false;  // the program's own, of cudaHostRegister
  std::byte* start = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;  // different for each; addresses are used again
};

class MemoryBook {
 public:
  static MemoryBook& instance();
  MemoryBook() = default;
  MemoryBook(const MemoryBook&) = delete;
  MemoryBook& operator=(const MemoryBook&) = delete;

  // Null for 0 bytes; throws Error if there is not that much.
  void* allocate(Allocation kind, std::size_t bytes);
  // False if some of it is registered or allocated already.
  bool add(const Allocation& registered);
  // What a pointer points into, not only its start.
  std::optional<Allocation> find(const void* memory) const;
  // What starts there.
  std::optional<Allocation> startingAt(const void* memory) const;

  // cudaFree and cudaFreeHost; cudaHostUnregister.
  enum Kind { kOfDevice, kOfHost, kRegistered };
  static bool is(const Allocation& allocation, Kind kind);
  // False if nothing of that kind starts there, or if it is not the one of that number (0: any).
  bool free(void* memory, Kind kind, std::uint64_t number = 0);

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, Allocation> all_;  // by start; never overlapping
  std::uint64_t last_ = 0;
};

}  // namespace xylem
