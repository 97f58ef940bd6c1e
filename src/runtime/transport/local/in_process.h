#pragma once
// Shared memory that ranks of one process hand each other: they use the same mapping, which lives as long as
// one of them needs it.
//
//   InProcess entry(memory);                             // one rank, which tells the other entry.handle()
//   std::shared_ptr<SharedMemory> same = InProcess::find(handle);

#include <cstdint>
#include <memory>

#include "runtime/transport/local/shared_memory.h"

namespace xylem {

class InProcess {
 public:
  // Can be found as long as this exists.
  explicit InProcess(const std::shared_ptr<SharedMemory>& memory);
  ~InProcess();
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  std::uint64_t handle() const { return handle_; }
  // Null if it is gone.
  static std::shared_ptr<SharedMemory> find(std::uint64_t handle);

 private:
  std::uint64_t handle_;
};

}  // namespace xylem
