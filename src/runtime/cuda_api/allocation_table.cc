#include "runtime/cuda_api/allocation_table.h"

#include <memory>

#include "runtime/device/host_device.h"

namespace xylem::cuda_api {

// Never destroyed: programs may free memory while the process ends.
AllocationTable& AllocationTable::instance() {
  static auto& table = *std::make_unique<AllocationTable>().release();
  return table;
}

void* AllocationTable::allocate(Allocation kind, std::size_t bytes) {
  std::unique_ptr<void, void (*)(void*)> memory(device::allocateMemory(bytes), device::releaseMemory);
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  kind.start = static_cast<std::byte*>(memory.get());
  kind.bytes = bytes;
  kind.number = ++last_;
  all_[kind.start] = kind;
  return memory.release();
}

bool AllocationTable::add(Allocation foreign) {
  const std::lock_guard lock(mutex_);
  const auto next = all_.lower_bound(foreign.start);
  if (next != all_.end() && next->first < foreign.start + foreign.bytes) return false;
  if (next != all_.begin()) {
    const Allocation& before = std::prev(next)->second;
    if (before.start + before.bytes > foreign.start) return false;
  }
  foreign.number = ++last_;
  all_[foreign.start] = std::move(foreign);
  return true;
}

std::optional<Allocation> AllocationTable::find(const void* memory) const {
  const auto* byte = static_cast<const std::byte*>(memory);
  const std::lock_guard lock(mutex_);
  const auto next = all_.upper_bound(byte);
  if (next == all_.begin()) return std::nullopt;
  const Allocation& allocation = std::prev(next)->second;
  if (byte >= allocation.start + allocation.bytes) return std::nullopt;
  return allocation;
}

std::optional<Allocation> AllocationTable::startingAt(const void* memory) const {
  const std::lock_guard lock(mutex_);
  const auto entry = all_.find(static_cast<const std::byte*>(memory));
  if (entry == all_.end()) return std::nullopt;
  return entry->second;
}

bool AllocationTable::is(const Allocation& allocation, Kind kind) {
  if (kind == kRegistered) return allocation.registered;
  return !allocation.registered && (allocation.type == cudaMemoryTypeHost) == (kind == kOfHost);
}

bool AllocationTable::free(void* memory, Kind kind, std::uint64_t number) {
  Allocation freed;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = all_.find(static_cast<const std::byte*>(memory));
    if (entry == all_.end() || !is(entry->second, kind)) return false;
    if (number != 0 && entry->second.number != number) return false;
    freed = std::move(entry->second);
    all_.erase(entry);
  }
  if (kind != kRegistered && freed.mapping == nullptr) device::releaseMemory(memory);
  return true;
}

}  // namespace xylem::cuda_api
