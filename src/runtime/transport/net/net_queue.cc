#include "runtime/transport/net/net_queue.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "core/error.h"

namespace xylem {
namespace {

// Less is copied, so that nobody waits until it has left.
constexpr std::size_t kLeastReferred = std::size_t{8} << 10;

}  // namespace

NetQueueMemory::NetQueueMemory(const StepBytes& stepBytes) : bytes_(queueBytes(stepBytes)) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ResultCode::kSystemError, "cannot get {} bytes for a queue over the network: {}", bytes_,
                errnoText(errno));
  new (memory) QueueControl{};
  queue_ = queueIn(static_cast<std::byte*>(memory), stepBytes);
}

NetQueueMemory::~NetQueueMemory() {
  if (bytes_ > 0) munmap(queue_.control, bytes_);
}

bool NetPeerMemory::locate(const std::byte* data, std::size_t bytes, StepNote& note) {
  if (bytes < kLeastReferred) return false;
  note = {.region = 1,
          .bytes = static_cast<std::uint32_t>(bytes),
          .address = reinterpret_cast<std::uintptr_t>(data)};
  return true;
}

// What comes from the network lies in slots.
const std::byte* NetPeerMemory::reach(const StepNote&) {
  throw Error(ResultCode::kInternalError, "a step that came over the network lies in its sender's memory");
}
void NetPeerMemory::read(const StepNote& note, std::byte*) { reach(note); }

}  // namespace xylem
