#pragma once
// What a plugin says about a device, whatever its version: the same for messages and for networks that
// reduce.
//
//   NetProperties read;
//   int type;
//   const abi::Result result = readProperties<8>(table.getProperties, 0, Carries::kMessages, read, type);

#include <algorithm>
#include <climits>
#include <string>

#include "runtime/plugins/net_abi.h"
#include "runtime/transport/net/network.h"

namespace xylem {

// Whose largest size is asked for.
enum class Carries { kMessages, kReductions };

// Larger than the properties of any version: plugins exist that write more than theirs has.
constexpr std::size_t kPropertyBytes = 256;

inline std::string textOf(const char* text) { return text == nullptr ? "" : text; }

inline unsigned pointersOf(int bits) {
  return (bits & abi::kPtrHost ? kHostPointer : 0u) | (bits & abi::kPtrCuda ? kCudaPointer : 0u) |
         (bits & abi::kPtrDmaBuf ? kDmaBufPointer : 0u);
}

// `deviceType`: abi::kHostNetDevice, or something that moves data from the GPU.
template <int V>
abi::Result readProperties(abi::Result (*get)(int, abi::Properties<V>*), int device, Carries what,
                           NetProperties& properties, int& deviceType) {
  union {
    abi::Properties<V> read;
    std::byte bytes[kPropertyBytes];
  } raw{.bytes = {}};
  const abi::Result result = get(device, &raw.read);
  if (result != abi::kSuccess) return result;
  const auto& read = raw.read;
  const bool reduces = what == Carries::kReductions;
  properties = {.name = textOf(read.name),
                .pciPath = textOf(read.pciPath),
                .guid = read.guid,
                .speed = read.speed,
                .port = read.port,
                .latency = read.latency,
                .maxLinks = read.maxComms > 0 ? read.maxComms : INT_MAX,
                .maxReceives = std::max(read.maxRecvs, 1),
                .pointers = pointersOf(read.ptrSupport),
                .needsRegistration = true,
                .maxBytes = reduces ? abi::kMostReducedBytesBeforeV9 : abi::kMostBytesBeforeV9};
  deviceType = abi::kHostNetDevice;
  if constexpr (V >= 7) deviceType = read.netDeviceType;
  if constexpr (V >= 8) properties.registrationIsGlobal = read.regIsGlobal != 0;
  if constexpr (V >= 9) {
    properties.forceFlush = read.forceFlush != 0;
    properties.maxBytes = reduces ? read.maxCollBytes : read.maxP2pBytes;
  }
  return result;
}

}  // namespace xylem
