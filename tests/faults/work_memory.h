#pragma once
// The buffers of a rank that works until an operation fails. Once its operation has ended, they belong to it
// alone, in whatever state the other ranks are.
//
//   WorkMemory memory(WorkMemory::Kind::kMalloc, bytes);
//   ... an operation on memory.send() and memory.receive() fails ...
//   memory.mark();
//   ... later ...
//   EXPECT_TRUE(memory.marksAreThere());

#include <cstddef>
#include <memory>

namespace xylem::testing {

class WorkMemory {
 public:
  // kShareable: peers of other processes map it; other kinds are copied through shared memory. kPages: an
  // access after lock() ends the process.
  enum class Kind { kMalloc, kShareable, kPages };

  WorkMemory(Kind kind, std::size_t bytesEach);
  // The first half and the second.
  float* send() const { return reinterpret_cast<float*>(data_.get()); }
  float* receive() const { return reinterpret_cast<float*>(data_.get() + bytes_); }
  void mark();
  bool marksAreThere() const;
  // For kPages.
  void lock();

 private:
  struct Free {
    Kind kind;
    std::size_t bytes;
    void operator()(std::byte* data) const;
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace xylem::testing
