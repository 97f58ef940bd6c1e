#include "runtime/transport/net/pxn/proxied_memory.h"

#include <new>
#include <utility>

namespace xylem::transport {
namespace {

// The queue begins with a page.
constexpr std::size_t kStateBytes = 4096;
static_assert(sizeof(ProxiedQueueState) <= kStateBytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "both processes use them");

}  // namespace

std::size_t ProxiedMemory::bytesOf(const StepBytes& stepBytes) { return kStateBytes + queueBytes(stepBytes); }

ProxiedMemory::ProxiedMemory(const StepBytes& stepBytes)
    : memory_(SharedMemory::create("xylem proxied queue", bytesOf(stepBytes))), stepBytes_(stepBytes) {}

ProxiedMemory::ProxiedMemory(FileDescriptor memory, const StepBytes& stepBytes)
    : memory_(SharedMemory::open(std::move(memory), bytesOf(stepBytes))), stepBytes_(stepBytes) {
  closeFd();
}

ProxiedQueueState& ProxiedMemory::state() const {
  return *std::launder(reinterpret_cast<ProxiedQueueState*>(memory_.data()));
}

QueueMemory ProxiedMemory::queue() const { return queueIn(memory_.data() + kStateBytes, stepBytes_); }
QueueMemory ProxiedMemory::queue(std::byte* slots) const {
  return queueApart(memory_.data() + kStateBytes, slots, stepBytes_);
}

}  // namespace xylem::transport
