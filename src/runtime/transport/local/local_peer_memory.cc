#include "runtime/transport/local/local_peer_memory.h"

#include <cerrno>

#include "core/error.h"
#include "core/shareable_memory.h"
#include "runtime/transport/local/process_memory.h"

namespace xylem {
namespace {

// What StepNote::region says: 1 for plain addresses, then the regions.
constexpr std::uint32_t kAddress = 1;
constexpr std::uint32_t kFirstRegion = 2;

}  // namespace

bool LocalPeerMemory::locate(const std::byte* data, std::size_t bytes, StepNote& note) {
  if (!reach_.sameProcess) {
    const std::optional<ShareableMemory::Place> place = ShareableMemory::find(data, bytes);
    if (place && link_.sendRegion(place->region)) {
      note.region = kFirstRegion + place->region;
      note.address = place->offset;
      return true;
    }
    if (reach_.crossMemoryBytes == 0 || bytes < reach_.crossMemoryBytes) return false;
  }
  note.region = kAddress;
  note.address = reinterpret_cast<std::uintptr_t>(data);
  return true;
}

const std::byte* LocalPeerMemory::reach(const StepNote& note) {
  if (note.region == kAddress)
    return reach_.sameProcess ? reinterpret_cast<const std::byte*>(note.address) : nullptr;
  if (const std::byte* data = link_.place(note.region - kFirstRegion, note.address, note.bytes)) return data;
  throw Error(ResultCode::kRemoteError, "rank {} refers to memory that it has not handed over", link_.peer());
}

std::byte* LocalPeerMemory::at(const BufferPlace& place, std::size_t bytes) {
  if (place.region == BufferPlace::kAddress)
    return reach_.sameProcess ? reinterpret_cast<std::byte*>(place.address) : nullptr;
  const std::uint32_t region = place.region - BufferPlace::kFirstRegion;
  if (reach_.sameProcess) return ShareableMemory::at({region, place.address});
  if (std::byte* data = link_.place(region, place.address, bytes)) return data;
  throw Error(ResultCode::kRemoteError, "rank {} refers to memory that it has not handed over", link_.peer());
}

void LocalPeerMemory::read(const StepNote& note, std::byte* out) {
  const bool all = readProcess(reach_.process, note.address, out, note.bytes);
  const int error = errno;
  // What a peer has that gave up may be gone, or something else by now; but first it said so.
  if (const PeerNews news = link_.news(); news.state == PeerState::kAborted)
    throw Error(ResultCode::kRemoteError, "{}", news.text);
  if (!all) throwUnreachable("read", note.bytes, error);
}

void LocalPeerMemory::throwUnreachable(const char* what, std::size_t bytes, int error) const {
  throw Error(ResultCode::kRemoteError, "cannot {} {} bytes of the memory of rank {}: {}", what, bytes,
              link_.peer(), error == ESRCH ? "its process has ended" : errnoText(error));
}

}  // namespace xylem
