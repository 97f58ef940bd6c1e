#pragma once
// The buffers that a program announced for a communicator (ncclCommRegister). Ranks on one host reach each
// other's buffers without that, so that all there is to do is to give out handles and to know them again.
//
//   void* handle = registrations.add(buffer, bytes);
//   registrations.remove(handle);   ->   false if it is not one

#include <cstddef>
#include <cstdint>
#include <map>

namespace xylem {

class Registrations {
 public:
  void* add(const void* buffer, std::size_t bytes) {
    buffers_[++last_] = {buffer, bytes};
    return reinterpret_cast<void*>(last_);
  }
  bool remove(const void* handle) { return buffers_.erase(reinterpret_cast<std::uintptr_t>(handle)) > 0; }

 private:
  struct Buffer {
    const void* start = nullptr;
    std::size_t bytes = 0;
  };
  // By number; numbers are not used again, so that giving a handle back twice never hits another one.
  std::map<std::uintptr_t, Buffer> buffers_;
  std::uintptr_t last_ = 0;
};

}  // namespace xylem
