#include "runtime/comm/watch/flight_area.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

#include "runtime/comm/watch/flight_clock.h"
#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem {
namespace {

struct OwnArea {
  FileDescriptor memory;  // open for readers in other processes, who find it in /proc
  FlightArea* area = nullptr;
  pid_t owner = 0;  // a child that was forked has its parent's areas in its memory, and needs its own
  const OwnArea* older = nullptr;
};

std::atomic<const OwnArea*> newestArea{nullptr};

void writeHead(FlightArea& area) {
  const FlightMoment now = FlightMoment::now();
  std::array<char, kFlightHostWords * sizeof(std::uint64_t)> name{};
  gethostname(name.data(), name.size() - 1);
  for (std::size_t i = 0; i < kFlightHostWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data() + i * sizeof word, sizeof word);
    area.host[i].store(word, std::memory_order_relaxed);
  }
  area.pid.store(static_cast<std::uint64_t>(getpid()), std::memory_order_relaxed);
  area.startTicks.store(now.ticks, std::memory_order_relaxed);
  area.startNanoseconds.store(now.nanoseconds, std::memory_order_relaxed);
  area.bytes.store(sizeof(FlightArea), std::memory_order_relaxed);
  area.version.store(kFlightVersion, std::memory_order_relaxed);
  area.magic.store(kFlightMagic, std::memory_order_release);
}

// Pages that nobody writes to take no memory. Words that are zero are what new ones would be.
FlightArea& newArea() {
  auto own = std::make_unique<OwnArea>();
  own->memory = FileDescriptor(memfd_create(kFlightName, MFD_CLOEXEC));
  const bool shared = own->memory && ftruncate(own->memory.get(), sizeof(FlightArea)) == 0;
  void* memory = MAP_FAILED;
  if (shared)
    memory = mmap(nullptr, sizeof(FlightArea), PROT_READ | PROT_WRITE, MAP_SHARED, own->memory.get(), 0);
  // Without it nobody can look from outside, but the process itself still can.
  if (memory == MAP_FAILED) {
    own->memory.reset();
    memory = mmap(nullptr, sizeof(FlightArea), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED)
    throw Error(ResultCode::kSystemError, "cannot map {} bytes for the flight recorder: {}",
                sizeof(FlightArea), errnoText(errno));
  own->area = static_cast<FlightArea*>(memory);
  own->owner = getpid();
  own->older = newestArea.load(std::memory_order_relaxed);
  writeHead(*own->area);
  FlightArea& area = *own->area;
  newestArea.store(own.release(), std::memory_order_release);
  return area;
}

void empty(FlightSlot& slot) {
  for (FlightRecord& record : slot.records) {
    if (record.seal.load(std::memory_order_relaxed) == 0) continue;
    record.seal.store(0, std::memory_order_relaxed);
  }
  slot.issued.store(0, std::memory_order_relaxed);
  slot.waitsFor.store(0, std::memory_order_relaxed);
  slot.reason[0].store(0, std::memory_order_relaxed);
}

std::mutex& slotsMutex() {
  static std::mutex& mutex = *new std::mutex;  // communicators may be destroyed while the program ends
  return mutex;
}

FlightSlot* freeSlot(FlightArea& area) {
  for (FlightSlot& slot : area.slots)
    if (slot.use.load(std::memory_order_relaxed) == static_cast<std::uint64_t>(FlightUse::kFree))
      return &slot;
  return nullptr;
}

}  // namespace

FlightSlot& takeFlightSlot() {
  const std::lock_guard lock(slotsMutex());
  FlightSlot* slot = nullptr;
  for (const OwnArea* own = newestArea.load(std::memory_order_acquire); own != nullptr && slot == nullptr;
       own = own->older)
    if (own->owner == getpid()) slot = freeSlot(*own->area);
  if (slot == nullptr) slot = &newArea().slots.front();
  empty(*slot);
  slot->use.store(static_cast<std::uint64_t>(FlightUse::kLive), std::memory_order_release);
  return *slot;
}

void giveBackFlightSlot(FlightSlot& slot) noexcept {
  const std::lock_guard lock(slotsMutex());
  slot.use.store(static_cast<std::uint64_t>(FlightUse::kFree), std::memory_order_release);
}

void forEachFlightArea(void (*look)(const FlightArea&, void*), void* context) {
  for (const OwnArea* own = newestArea.load(std::memory_order_acquire); own != nullptr; own = own->older)
    if (own->owner == getpid()) look(*own->area, context);
}

}  // namespace xylem
