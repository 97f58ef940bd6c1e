#include "faults/work_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "nccl.h"

namespace xylem::testing {
namespace {

constexpr std::byte kMark{0x5a};

std::byte* allocate(WorkMemory::Kind kind, std::size_t bytes) {
  void* data = nullptr;
  switch (kind) {
    case WorkMemory::Kind::kMalloc:
      data = std::malloc(bytes);
      break;
    case WorkMemory::Kind::kShareable:
      if (ncclMemAlloc(&data, bytes) != ncclSuccess) data = nullptr;
      break;
    case WorkMemory::Kind::kPages:
      data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (data == MAP_FAILED) data = nullptr;
      break;
  }
  if (data == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(data);
}

}  // namespace

WorkMemory::WorkMemory(Kind kind, std::size_t bytesEach)
    : bytes_(bytesEach), data_(allocate(kind, 2 * bytesEach), {kind, 2 * bytesEach}) {
  std::fill_n(send(), bytes_ / sizeof(float), 1.0F);
  std::fill_n(receive(), bytes_ / sizeof(float), 0.0F);
}

void WorkMemory::Free::operator()(std::byte* data) const {
  switch (kind) {
    case Kind::kMalloc:
      return std::free(data);
    case Kind::kShareable:
      ncclMemFree(data);
      return;
    case Kind::kPages:
      munmap(data, bytes);
  }
}

void WorkMemory::mark() { std::fill_n(data_.get(), 2 * bytes_, kMark); }

bool WorkMemory::marksAreThere() const {
  return std::all_of(data_.get(), data_.get() + 2 * bytes_, [](std::byte b) { return b == kMark; });
}

void WorkMemory::lock() { EXPECT_EQ(mprotect(data_.get(), 2 * bytes_, PROT_NONE), 0); }

}  // namespace xylem::testing
