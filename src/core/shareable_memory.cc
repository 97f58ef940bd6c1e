#include "core/shareable_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

#include "core/address_space.h"
#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/per_process.h"
#include "core/resize_file.h"

namespace xylem {
namespace {

constexpr std::size_t kGrain = 256;
constexpr std::size_t kPage = 4096;
// The address space that a region takes here and in every peer that maps it. Most programs need one region.
constexpr std::size_t kRegionBytes = std::size_t{32} << 30;

constexpr std::size_t roundUp(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }
constexpr std::size_t roundDown(std::size_t bytes, std::size_t to) { return bytes / to * to; }

std::size_t alignmentFor(std::size_t bytes) {
  if (bytes >= kHugePage) return kHugePage;
  return bytes >= kPage ? kPage : kGrain;
}

class Region {
 public:
  // `bytes`: a multiple of 2 MiB. Throws if there is no address space for it.
  explicit Region(std::size_t bytes);

  // Returns null if the region has no free piece that is large enough.
  void* allocate(std::size_t bytes);
  bool release(std::byte* address);
  bool holds(const std::byte* address, std::size_t bytes) const {
    return address >= data_ && address < data_ + bytes_ &&
           bytes <= static_cast<std::size_t>(data_ + bytes_ - address);
  }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }
  // False in a child of the process that made it: the child shares the memory, but not the lists of free
  // pieces.
  bool ours() const { return owner_ == getpid(); }

 private:
  void giveBack(std::size_t begin, std::size_t end);

  pid_t owner_ = getpid();
  FileDescriptor fd_;
  std::byte* data_ = nullptr;
  std::size_t bytes_;
  std::map<std::size_t, std::size_t> free_, used_;  // begin and end of each piece
};

Region::Region(std::size_t bytes)
    : fd_(memfd_create("xylem memory", MFD_CLOEXEC | MFD_ALLOW_SEALING)), bytes_(bytes) {
  if (!fd_ || !resizeFile(fd_.get(), bytes) ||
      fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw Error(ResultCode::kSystemError, "cannot create {} bytes of memory: {}", bytes, errnoText(errno));
  std::byte* const place = reserveAddresses(bytes, kOwnColour);
  if (place == nullptr)
    throw Error(ResultCode::kSystemError, "no address space for {} bytes of memory: {}", bytes,
                errnoText(errno));
  void* mapped =
      mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd_.get(), 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    munmap(place, bytes);
    throw Error(ResultCode::kSystemError, "cannot map {} bytes of memory: {}", bytes, errnoText(error));
  }
  data_ = static_cast<std::byte*>(mapped);
  free_[0] = bytes;
}

// First fit: the free piece with the lowest address that is large enough.
void* Region::allocate(std::size_t bytes) {
  const std::size_t alignment = alignmentFor(bytes);
  const std::size_t size = roundUp(std::max<std::size_t>(bytes, 1), std::min(alignment, kPage));
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [begin, end] = *piece;
    const std::size_t at = roundUp(begin, alignment);
    if (at > end || end - at < size) continue;
    free_.erase(piece);
    if (begin < at) free_[begin] = at;
    if (at + size < end) free_[at + size] = end;
    used_[at] = at + size;
    if (size >= kHugePage) madvise(data_ + at, roundDown(size, kHugePage), MADV_HUGEPAGE);
    return data_ + at;
  }
  return nullptr;
}

bool Region::release(std::byte* address) {
  const auto piece = used_.find(static_cast<std::size_t>(address - data_));
  if (piece == used_.end()) return false;
  const auto [begin, end] = *piece;
  used_.erase(piece);
  giveBack(begin, end);
  return true;
}

// Merges the piece with free neighbours and gives its pages back to the system.
void Region::giveBack(std::size_t begin, std::size_t end) {
  std::size_t wholeBegin = begin, wholeEnd = end;
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && after->first == end) {
    wholeEnd = after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin() && std::prev(after)->second == begin) wholeBegin = std::prev(after)->first;
  free_[wholeBegin] = wholeEnd;
  // Punches out the pages that have become empty, with those that this piece shared with free neighbours.
  const std::size_t from = std::max(roundUp(wholeBegin, kPage), roundDown(begin, kPage));
  const std::size_t to = std::min(roundDown(wholeEnd, kPage), roundUp(end, kPage));
  if (from < to)
    fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
              static_cast<off_t>(to - from));
}

struct Regions {
  PerProcess<std::mutex> mutex;
  std::array<std::unique_ptr<Region>, ShareableMemory::kMaxRegions> regions;
  std::atomic<std::uint32_t> count{0};
};
// Never destroyed: programs release memory while static destructors run.
Regions& all() {
  static Regions& regions = *new Regions;
  return regions;
}

// Makes a region for at least `bytes` bytes. It is smaller than kRegionBytes where the limits of the process
// on address space or file sizes require that: its peers have the same limits, and each maps the regions of all others.
std::unique_ptr<Region> makeRegion(std::size_t bytes) {
  constexpr std::size_t kRegionsOfPeers = 64;
  const std::size_t minimum = roundUp(bytes, kHugePage);
  std::size_t size = std::max(minimum, kRegionBytes);
  rlimit files{}, addresses{};
  if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < size)
    size = std::max<std::size_t>(minimum, roundDown(files.rlim_cur, kHugePage));
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    size = std::clamp<std::size_t>(roundDown(addresses.rlim_cur / kRegionsOfPeers, kHugePage), minimum, size);
  for (;; size = std::max(minimum, roundDown(size / 2, kHugePage))) {
    try {
      return std::make_unique<Region>(size);
    } catch (const Error&) {
      if (size == minimum) throw;
    }
  }
}

}  // namespace

void* ShareableMemory::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 4) throw Error(ResultCode::kSystemError, "no memory of {} bytes", bytes);
  Regions& regions = all();
  const std::lock_guard lock(regions.mutex.get());
  const std::uint32_t count = regions.count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i)
    if (regions.regions[i]->ours())
      if (void* address = regions.regions[i]->allocate(bytes)) return address;
  if (count == kMaxRegions)
    throw Error(ResultCode::kSystemError, "no memory of {} bytes: all {} regions are full", bytes, count);
  regions.regions[count] = makeRegion(bytes);
  regions.count.store(count + 1, std::memory_order_release);
  return regions.regions[count]->allocate(bytes);
}

bool ShareableMemory::release(void* address) {
  const std::optional<Place> place = find(address, 1);
  if (!place) return false;
  Regions& regions = all();
  const std::lock_guard lock(regions.mutex.get());
  Region& region = *regions.regions[place->region];
  return !region.ours() || region.release(static_cast<std::byte*>(address));
}

std::optional<ShareableMemory::Place> ShareableMemory::find(const void* address, std::size_t bytes) noexcept {
  const Regions& regions = all();
  const auto* data = static_cast<const std::byte*>(address);
  const std::uint32_t count = regions.count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Region& region = *regions.regions[i];
    if (region.holds(data, bytes)) return Place{i, static_cast<std::uint64_t>(data - region.data())};
  }
  return std::nullopt;
}

std::byte* ShareableMemory::at(Place place) noexcept {
  return all().regions[place.region]->data() + place.offset;
}

int ShareableMemory::fd(std::uint32_t region) noexcept { return all().regions[region]->fd(); }
std::size_t ShareableMemory::bytes(std::uint32_t region) noexcept { return all().regions[region]->bytes(); }

}  // namespace xylem
