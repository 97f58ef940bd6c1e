#include "torch/shared_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "core/shareable_memory.h"

namespace xylem::torch {
namespace {

// Smaller messages are staged in shared memory or cost little to copy; DDP's first bucket has this size.
constexpr std::size_t kMinBytes = std::size_t{1} << 20;
constexpr std::size_t kGrain = kMinBytes;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Freed private memory that is kept for the next tensor of its size: getting pages costs more than using
// them.
constexpr std::size_t kMaxKeptBytes = std::size_t{512} << 20;

struct Block {
  std::size_t size = 0;   // of its address range
  std::size_t bytes = 0;  // as asked for
  bool exposed = false;
  pid_t owner = 0;
};

class Blocks {
 public:
  void* allocate(std::size_t bytes);
  void release(void* address);
  bool expose(void* address, std::size_t bytes, std::size_t storageBytes);
  bool isExposed(const void* address);
  // A child must not find it locked by a thread that exists only in the parent.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::map<const std::byte*, Block>::iterator holding(const void* address);
  void* takeKept(std::size_t size);
  void move(std::byte* address, Block& block);

  std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;
  std::unordered_multimap<std::size_t, void*> kept_;  // by size; private pages
  pid_t keeper_ = getpid();                           // the process whose they are
  std::size_t keptBytes_ = 0;
};

Blocks& blocks() {
  static Blocks& all = *new Blocks;  // never destroyed: tensors are freed while the process ends
  return all;
}

void requireMapped(void* mapped) {
  if (mapped == MAP_FAILED) throw std::bad_alloc();
}

void hide(void* address, std::size_t size) {
  requireMapped(mmap(address, size, PROT_READ | PROT_WRITE,
                     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (size >= kHugePage) madvise(address, size, MADV_HUGEPAGE);
}

void show(void* address, std::size_t size, int populate) {
  const auto place = ShareableMemory::find(address, size);
  requireMapped(mmap(address, size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_NORESERVE | populate,
                     ShareableMemory::fd(place->region), static_cast<off_t>(place->offset)));
}

void* Blocks::allocate(std::size_t bytes) {
  const std::size_t size = (bytes + kGrain - 1) / kGrain * kGrain;
  const std::lock_guard lock(mutex_);
  void* address = takeKept(size);
  if (address == nullptr) {
    address = ShareableMemory::allocate(size);
    try {
      hide(address, size);
    } catch (...) {
      ShareableMemory::release(address);
      throw;
    }
  }
  blocks_[static_cast<std::byte*>(address)] = {size, bytes, false, getpid()};
  return address;
}

void* Blocks::takeKept(std::size_t size) {
  // After fork, a child allocates from regions of its own.
  if (keeper_ != getpid()) {
    kept_.clear();
    keptBytes_ = 0;
    keeper_ = getpid();
  }
  const auto found = kept_.find(size);
  if (found == kept_.end()) return nullptr;
  void* address = found->second;
  kept_.erase(found);
  keptBytes_ -= size;
  return address;
}

void Blocks::release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<std::byte*>(address));
  const Block block = found->second;
  blocks_.erase(found);
  // In a child, a copy of its parent's memory keeps the parent's addresses.
  if (block.owner != getpid()) return;
  if (!block.exposed && keeper_ == getpid() && keptBytes_ + block.size <= kMaxKeptBytes) {
    kept_.emplace(block.size, address);
    keptBytes_ += block.size;
    return;
  }
  if (!block.exposed) show(address, block.size, 0);
  ShareableMemory::release(address);
}

std::map<const std::byte*, Block>::iterator Blocks::holding(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  auto found = blocks_.upper_bound(byte);
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  return byte < found->first + found->second.size ? found : blocks_.end();
}

bool Blocks::expose(void* address, std::size_t bytes, std::size_t storageBytes) {
  const std::lock_guard lock(mutex_);
  const auto found = holding(address);
  if (found == blocks_.end()) return true;
  Block& block = found->second;
  // In a child of the process that made it, the region holds the parent's data.
  if (block.owner != getpid()) return false;
  if (block.exposed) return true;
  // While part of it is in use, other threads may write to the rest, and these writes would be lost.
  if (address != found->first || bytes != storageBytes || storageBytes > block.bytes) return false;
  move(static_cast<std::byte*>(address), block);
  return true;
}

bool Blocks::isExposed(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = holding(address);
  return found != blocks_.end() && found->second.exposed;
}

// Writes the pages to the region's file and maps the file in their place.
void Blocks::move(std::byte* address, Block& block) {
  const auto place = ShareableMemory::find(address, block.size);
  for (std::size_t done = 0; done < block.bytes;) {
    const ssize_t written = pwrite(ShareableMemory::fd(place->region), address + done, block.bytes - done,
                                   static_cast<off_t>(place->offset + done));
    if (written <= 0)
      throw std::runtime_error("xylem: no memory to share " + std::to_string(block.bytes) +
                               " bytes with other ranks");
    done += static_cast<std::size_t>(written);
  }
  show(address, block.size, MAP_POPULATE);
  block.exposed = true;
}

class SharedAllocator final : public c10::Allocator {
 public:
  static SharedAllocator& instance() {
    static SharedAllocator& one = *new SharedAllocator;
    return one;
  }

  c10::DataPtr allocate(std::size_t bytes) const override {
    void* data = used_.load(std::memory_order_relaxed) && bytes >= kMinBytes ? shareable(bytes) : nullptr;
    if (data == nullptr) data = usual_->raw_allocate(bytes);
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  std::atomic<bool> used_{true};

 private:
  // Returns null if limits of the process do not allow regions, or enough mappings.
  static void* shareable(std::size_t bytes) {
    try {
      return blocks().allocate(bytes);
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  static void release(void* data) {
    if (data == nullptr) return;
    if (ShareableMemory::find(data, 1))
      blocks().release(data);
    else
      instance().usual_->raw_deallocate(data);
  }

  c10::Allocator* const usual_ = c10::GetDefaultCPUAllocator();
};

// Above the priority of torch's own, which is 0.
constexpr std::uint8_t kPriority = 1;

}  // namespace

void installSharedAllocator() {
  pthread_atfork([] { blocks().lock(); }, [] { blocks().unlock(); }, [] { blocks().unlock(); });
  c10::SetCPUAllocator(&SharedAllocator::instance(), kPriority);
}
void useSharedMemory(bool use) noexcept { SharedAllocator::instance().used_ = use; }
bool usesSharedMemory() noexcept { return SharedAllocator::instance().used_; }

bool exposeToPeers(void* address, std::size_t bytes, std::size_t storageBytes) {
  if (!ShareableMemory::find(address, bytes == 0 ? 1 : bytes)) return true;
  return blocks().expose(address, bytes, storageBytes);
}

bool isExposed(const void* address) { return blocks().isExposed(address); }

}  // namespace xylem::torch
