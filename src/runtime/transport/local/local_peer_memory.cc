#include "runtime/transport/local/local_peer_memory.h"

#include <cerrno>

#include "core/error.h"
#include "core/shareable_memory.h"
#include "runtime/transport/local/huge_pages.h"
#include "runtime/transport/local/process_memory.h"

namespace xylem::transport {
namespace {

// From here on StepNote::region is a region of the writer's ShareableMemory.
constexpr std::uint32_t kFirstRegion = StepNote::kAddress + 1;

}  // namespace

LocalPeerMemory::LocalPeerMemory(PeerSession& session, const Reach& reach)
    : session_(session), reach_(reach) {
  const bool areFixed = reach.choices.adapt == 0 || !reach.peerReads || !reach.reads;
  if (!reach.sameProcess)
    ways_ = std::make_unique<MessageWays>(reach.choices, reach.decides, reach.tell, areFixed);
}

bool LocalPeerMemory::readsMessage(std::uint64_t bytes, std::uint32_t told) {
  return adapts(bytes) ? ways_->sends(bytes, told) : reads(bytes);
}

std::uint32_t LocalPeerMemory::received(std::uint64_t bytes, bool read,
                                        std::optional<std::chrono::nanoseconds> time,
                                        std::optional<std::chrono::nanoseconds> line) {
  return ways_->received(bytes, read, time, line);
}

// Through the kernel.
void LocalPeerMemory::peerWillUse(const std::byte* data, std::size_t bytes) const {
  if (reach_.choices.hugePages != 0) HugePages::ofProcess().othersWillUse(data, bytes);
}

bool LocalPeerMemory::locate(const std::byte* data, std::size_t bytes, bool readable, StepNote& note) {
  if (!reach_.sameProcess) {
    const std::optional<ShareableMemory::Place> place = ShareableMemory::find(data, bytes);
    if (place && session_.sendRegion(place->region)) {
      note.region = kFirstRegion + place->region;
      note.address = place->offset;
      return true;
    }
    if (!reach_.peerReads || !readable || !readable_.holds(data, bytes)) return false;
    peerWillUse(data, bytes);
  }
  note.region = StepNote::kAddress;
  note.address = reinterpret_cast<std::uintptr_t>(data);
  return true;
}

const std::byte* LocalPeerMemory::reach(const StepNote& note) {
  if (note.region == StepNote::kAddress)
    return reach_.sameProcess ? reinterpret_cast<const std::byte*>(note.address) : nullptr;
  if (const std::byte* data = session_.place(note.region - kFirstRegion, note.address, note.bytes))
    return data;
  throw Error(ResultCode::kRemoteError, "rank {} refers to memory that it has not handed over",
              session_.peer());
}

std::byte* LocalPeerMemory::at(const BufferPlace& place, std::size_t bytes) {
  if (place.region == BufferPlace::kAddress)
    return reach_.sameProcess ? reinterpret_cast<std::byte*>(place.address) : nullptr;
  const std::uint32_t region = place.region - BufferPlace::kFirstRegion;
  if (reach_.sameProcess) return ShareableMemory::at({region, place.address});
  if (std::byte* data = session_.place(region, place.address, bytes)) return data;
  throw Error(ResultCode::kRemoteError, "rank {} refers to memory that it has not handed over",
              session_.peer());
}

void LocalPeerMemory::read(const StepNote& note, std::byte* out) {
  if (readProcess(reach_.process, note.address, out, note.bytes)) return;
  throwUnreachable("read", note.bytes, errno);
}

bool LocalPeerMemory::offer(std::byte* out, std::size_t bytes, bool throughKernel, BufferPlace& place) {
  place = {BufferPlace::kAddress, reinterpret_cast<std::uintptr_t>(out)};
  if (reach_.sameProcess) return true;
  if (const auto mapped = ShareableMemory::find(out, bytes); mapped && session_.sendRegion(mapped->region)) {
    place = {BufferPlace::kFirstRegion + mapped->region, mapped->offset};
    return true;
  }
  if (!throughKernel || !reach_.peerReads) return false;
  peerWillUse(out, bytes);
  return true;
}

bool LocalPeerMemory::write(std::uint64_t address, const std::byte* data, std::size_t bytes) {
  if (!reach_.reads) return false;
  if (writeProcess(reach_.process, address, data, bytes)) return true;
  if (errno != ESRCH) return false;
  throwUnreachable("write", bytes, errno);
}

void LocalPeerMemory::throwUnreachable(const char* what, std::size_t bytes, int error) const {
  // A peer that gave up before its process ended has said why.
  if (const PeerNews news = session_.news(); news.state == PeerState::kAborted)
    throw Error(ResultCode::kRemoteError, "{}", news.text);
  // EFAULT: memory that the kernel does not hand out, as that of a device. EPERM: the process has changed its user, or what it allows.
  throw Error(ResultCode::kRemoteError, "cannot {} {} bytes of the memory of rank {}: {}", what, bytes,
              session_.peer(),
              error == ESRCH
                  ? "its process has ended"
                  : errnoText(error) + "; with XYLEM_CMA_BYTES=0 data goes through shared memory instead");
}

}  // namespace xylem::transport
