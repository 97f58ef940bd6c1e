#include "runtime/transport/local/in_process.h"

#include <map>
#include <mutex>

namespace xylem {
namespace {

struct Table {
  std::mutex mutex;
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::shared_ptr<SharedMemory>> entries;
};
Table& table() {
  static Table& table = *new Table;  // never destroyed: communicators may end after static objects
  return table;
}

}  // namespace

InProcess::InProcess(const std::shared_ptr<SharedMemory>& memory) {
  const std::lock_guard lock(table().mutex);
  handle_ = ++table().last;
  table().entries[handle_] = memory;
}

InProcess::~InProcess() {
  const std::lock_guard lock(table().mutex);
  table().entries.erase(handle_);
}

std::shared_ptr<SharedMemory> InProcess::find(std::uint64_t handle) {
  const std::lock_guard lock(table().mutex);
  const auto entry = table().entries.find(handle);
  return entry == table().entries.end() ? nullptr : entry->second;
}

}  // namespace xylem
