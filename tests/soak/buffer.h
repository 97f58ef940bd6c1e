#pragma once
// Memory for an operation: from any of the sources that programs use, at any address, with marks around it
// that show writes outside of it.

#include <cstddef>

#include "soak/random.h"

namespace xylem::soak {

class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t bytes, Random& random);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() const { return base_ == nullptr ? nullptr : base_ + offset_; }
  std::size_t size() const { return size_; }
  bool marksAreThere() const;

 private:
  enum class Source { kMalloc, kCudaMalloc, kNcclMemAlloc, kCudaMallocHost };
  void allocate(std::size_t bytes);

  Source source_ = Source::kMalloc;
  std::byte* base_ = nullptr;
  std::size_t offset_ = 0, size_ = 0, after_ = 0;
};

}  // namespace xylem::soak
