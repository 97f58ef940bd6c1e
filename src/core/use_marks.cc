#include "core/use_marks.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace xylem {
namespace {

struct Threads {
  std::mutex mutex;
  std::vector<const UseMarks*> marks;
};
// Never destroyed: threads may end after everything else.
Threads& threads() {
  static Threads& all = *std::make_unique<Threads>().release();
  return all;
}

bool registerForBarriers() {
#if defined(XYLEM_THREAD_SANITIZER)
  return false;  // the sanitizer does not model these barriers
#else
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

}  // namespace

const bool settlesForAll = registerForBarriers();

UseMarks::UseMarks() {
  const std::lock_guard lock(threads().mutex);
  threads().marks.push_back(this);
}

UseMarks::~UseMarks() {
  const std::lock_guard lock(threads().mutex);
  std::erase(threads().marks, this);
}

bool UseMarks::isOn(const void* object) const {
  return std::any_of(marks_.begin(), marks_.end(),
                     [object](const UseMark& mark) { return mark.isOn(object); });
}

void settleUseMarks() {
  if (settlesForAll)
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  else
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool isMarked(const void* object) {
  const std::lock_guard lock(threads().mutex);
  return std::any_of(threads().marks.begin(), threads().marks.end(),
                     [object](const UseMarks* marks) { return marks->isOn(object); });
}

}  // namespace xylem
