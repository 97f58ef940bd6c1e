#include "runtime/comm/watch/record_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/per_process.h"
#include "core/resize_file.h"

namespace xylem::comm {
namespace {

struct OwnBuffer {
  FileDescriptor memory;  // open for readers in other processes, which find it in /proc
  RecordBuffer* buffer = nullptr;
  pid_t owner = 0;  // a forked child finds its parent's buffers in its memory, but needs its own
  const OwnBuffer* older = nullptr;
};

std::atomic<const OwnBuffer*> newestBuffer{nullptr};

void writeHead(RecordBuffer& buffer) {
  const ClockReading now = ClockReading::now();
  std::array<char, kHostNameWords * sizeof(std::uint64_t)> name{};
  gethostname(name.data(), name.size() - 1);
  for (std::size_t i = 0; i < kHostNameWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data() + i * sizeof word, sizeof word);
    buffer.host[i].store(word, std::memory_order_relaxed);
  }
  buffer.pid.store(static_cast<std::uint64_t>(getpid()), std::memory_order_relaxed);
  buffer.startTicks.store(now.ticks, std::memory_order_relaxed);
  buffer.startNanoseconds.store(now.nanoseconds, std::memory_order_relaxed);
  buffer.bytes.store(sizeof(RecordBuffer), std::memory_order_relaxed);
  buffer.version.store(kRecordVersion, std::memory_order_relaxed);
  buffer.magic.store(kRecordMagic, std::memory_order_release);
}

// Maps a new buffer. Its words are zero, and pages that are never written to take no memory.
RecordBuffer& newBuffer() {
  auto own = std::make_unique<OwnBuffer>();
  own->memory = FileDescriptor(memfd_create(kRecordBufferName, MFD_CLOEXEC));
  const bool shared = own->memory && resizeFile(own->memory.get(), sizeof(RecordBuffer));
  void* memory = MAP_FAILED;
  if (shared)
    memory = mmap(nullptr, sizeof(RecordBuffer), PROT_READ | PROT_WRITE, MAP_SHARED, own->memory.get(), 0);
  // Without a memfd other processes cannot read the buffer, but this one still can.
  if (memory == MAP_FAILED) {
    own->memory.reset();
    memory = mmap(nullptr, sizeof(RecordBuffer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED)
    throw Error(ResultCode::kSystemError, "cannot map {} bytes for the flight recorder: {}",
                sizeof(RecordBuffer), errnoText(errno));
  own->buffer = static_cast<RecordBuffer*>(memory);
  own->owner = getpid();
  own->older = newestBuffer.load(std::memory_order_relaxed);
  writeHead(*own->buffer);
  RecordBuffer& buffer = *own->buffer;
  newestBuffer.store(own.release(), std::memory_order_release);
  return buffer;
}

void empty(RecordRing& ring) {
  for (RawRecord& record : ring.records) {
    if (record.seal.load(std::memory_order_relaxed) == 0) continue;
    record.seal.store(0, std::memory_order_relaxed);
  }
  ring.issued.store(0, std::memory_order_relaxed);
  ring.waitsFor.store(0, std::memory_order_relaxed);
  ring.waitKind.store(0, std::memory_order_relaxed);
  ring.reason[0].store(0, std::memory_order_relaxed);
  ring.copies[0].store(0, std::memory_order_relaxed);
}

std::mutex& ringsMutex() {
  static constinit PerProcess<std::mutex> mutex;  // communicators may be destroyed while the program ends
  return mutex.get();
}

RecordRing* freeRing(RecordBuffer& buffer) {
  for (RecordRing& ring : buffer.rings)
    if (ring.use.load(std::memory_order_relaxed) == static_cast<std::uint64_t>(RingUse::kFree)) return &ring;
  return nullptr;
}

}  // namespace

RecordRing& takeRecordRing(RingUse use) {
  const std::lock_guard lock(ringsMutex());
  RecordRing* ring = nullptr;
  for (const OwnBuffer* own = newestBuffer.load(std::memory_order_acquire); own != nullptr && ring == nullptr;
       own = own->older)
    if (own->owner == getpid()) ring = freeRing(*own->buffer);
  if (ring == nullptr) ring = &newBuffer().rings.front();
  empty(*ring);
  ring->use.store(static_cast<std::uint64_t>(use), std::memory_order_release);
  return *ring;
}

void returnRecordRing(RecordRing& ring) noexcept {
  const std::lock_guard lock(ringsMutex());
  ring.use.store(static_cast<std::uint64_t>(RingUse::kFree), std::memory_order_release);
}

void forEachRecordBuffer(void (*look)(const RecordBuffer&, void*), void* context) {
  for (const OwnBuffer* own = newestBuffer.load(std::memory_order_acquire); own != nullptr; own = own->older)
    if (own->owner == getpid()) look(*own->buffer, context);
}

}  // namespace xylem::comm
