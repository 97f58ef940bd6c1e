#include "soak/board.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <system_error>

namespace xylem::soak {

Board& makeBoard() {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "soak: no shared memory");
  return *new (memory) Board;
}

void Board::barrier(int participants) {
  const std::uint32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == participants) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    return;
  }
  while (round_.load(std::memory_order_acquire) == round) usleep(100);
}

}  // namespace xylem::soak
