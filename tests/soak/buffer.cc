#include "soak/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "nccl.h"

namespace xylem::soak {
namespace {

constexpr std::byte kMark{0xa5}, kUntouched{0xee};

}  // namespace

Buffer::Buffer(std::size_t bytes, Random& random) : size_(bytes) {
  source_ =
      random.pick({Source::kMalloc, Source::kCudaMalloc, Source::kNcclMemAlloc, Source::kCudaMallocHost});
  offset_ = static_cast<std::size_t>(random.pick({0, 0, 64, 16, 8, 4, random.below(64)}));
  // Memory of malloc ends where the buffer ends, for the address sanitizer.
  after_ = source_ == Source::kMalloc ? 0 : 32;
  allocate(std::max<std::size_t>(1, offset_ + size_ + after_));
  std::memset(base_, static_cast<int>(kMark), offset_);
  std::memset(data(), static_cast<int>(kUntouched), size_);
  std::memset(data() + size_, static_cast<int>(kMark), after_);
}

void Buffer::allocate(std::size_t bytes) {
  void* memory = nullptr;
  switch (source_) {
    case Source::kMalloc:
      memory = std::malloc(bytes);
      break;
    case Source::kCudaMalloc:
      cudaMalloc(&memory, bytes);
      break;
    case Source::kNcclMemAlloc:
      ncclMemAlloc(&memory, bytes);
      break;
    case Source::kCudaMallocHost:
      cudaMallocHost(&memory, bytes);
      break;
  }
  if (memory == nullptr) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
}

Buffer::~Buffer() {
  if (base_ == nullptr) return;
  switch (source_) {
    case Source::kMalloc:
      std::free(base_);
      break;
    case Source::kCudaMalloc:
      cudaFree(base_);
      break;
    case Source::kNcclMemAlloc:
      ncclMemFree(base_);
      break;
    case Source::kCudaMallocHost:
      cudaFreeHost(base_);
      break;
  }
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(source_, other.source_);
  std::swap(base_, other.base_);
  std::swap(offset_, other.offset_);
  std::swap(size_, other.size_);
  std::swap(after_, other.after_);
  return *this;
}

bool Buffer::marksAreThere() const {
  const auto intact = [](const std::byte* from, std::size_t bytes) {
    return std::all_of(from, from + bytes, [](std::byte b) { return b == kMark; });
  };
  return base_ == nullptr || (intact(base_, offset_) && intact(data() + size_, after_));
}

}  // namespace xylem::soak
