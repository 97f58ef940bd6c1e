#pragma once
// Memory where a step's payload lies in one piece while its queue holds it in another form. Taken when it is
// first needed: most queues never do.
//
//   std::byte* piece = staging.get(bytes);

#include <cstddef>
#include <memory>
#include <new>

namespace xylem {

class Staging {
 public:
  // Always asked for the same number of bytes.
  std::byte* get(std::size_t bytes) {
    if (!memory_) memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{128};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace xylem
