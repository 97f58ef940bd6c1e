#pragma once
// Copies of large pieces of data at any addresses. If source and destination overlap, the result is
// unspecified, but nothing else is written: the addresses come from other ranks and cannot be trusted to be
// disjoint.
//
//   copyBytesStreaming(output, input, bytes);  // much more than the caches hold, and not read again soon

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace xylem {

constexpr std::size_t kCacheLine = 64;

// Fetches a cache line for writing, ahead of the write.
inline void prefetchToWrite(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const std::byte*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

// The same for reading. Not the compiler's built-in function alone: GCC drops calls of functions that do nothing else.
inline void prefetchToRead(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const std::byte*>(line)));
#else
  __builtin_prefetch(line);
  asm volatile("" : : "r"(line));
#endif
}

// Leaves the written data in the caches, for the core that reads it next.
void copyBytes(std::byte* out, const std::byte* in, std::size_t bytes);
// Copies one to two words, as the first and the last one, which may overlap: half as many instructions as a call of the C library's copy.
template <typename Word>
void copyEnds(std::byte* out, const std::byte* in, std::size_t bytes) {
  Word first{}, last{};
  std::memcpy(&first, in, sizeof first);
  std::memcpy(&last, in + bytes - sizeof last, sizeof last);
  std::memcpy(out, &first, sizeof first);
  std::memcpy(out + bytes - sizeof last, &last, sizeof last);
}
// Copies that are mostly of a few words.
inline void copyLittle(std::byte* out, const std::byte* in, std::size_t bytes) {
  struct Words {
    std::uint64_t low, high;
  };
  if (bytes > 32) {
    std::memcpy(out, in, bytes);
    return;
  }
  if (bytes > 16) return copyEnds<Words>(out, in, bytes);
  if (bytes >= 8) return copyEnds<std::uint64_t>(out, in, bytes);
  if (bytes >= 4) return copyEnds<std::uint32_t>(out, in, bytes);
  if (bytes >= 2) return copyEnds<std::uint16_t>(out, in, bytes);
  if (bytes == 1) *out = *in;
}
// Where data is between the core that copies it into memory which both cores share, and the one that copies it out. Both copy accordingly;
// if they do not agree, it only takes longer.
enum class Handover {
  kNearCache,  // in a cache that both cores have
  kFarCache,   // in a cache of the first core, from which the second one fetches it
  kMemory,     // in memory: the first core writes it past its caches
};
// Less goes through the caches, whatever the handover: to write it past them takes as long as several lines from another core.
constexpr std::size_t kLeastHandedOver = std::size_t{1} << 10;

// Copies to memory that another core reads next, and has read before: its lines may be in the caches of that core.
void copyMuchToCore(std::byte* out, const std::byte* in, std::size_t bytes, Handover handover);
inline void copyToCore(std::byte* out, const std::byte* in, std::size_t bytes, Handover handover) {
  if (bytes >= 8 && bytes <= 16) return copyEnds<std::uint64_t>(out, in, bytes);
  copyMuchToCore(out, in, bytes, handover);
}
// Copies from memory that another core has just written.
void copyMuchFromCore(std::byte* out, const std::byte* in, std::size_t bytes, Handover handover);
inline void copyFromCore(std::byte* out, const std::byte* in, std::size_t bytes, Handover handover) {
  if (bytes >= 8 && bytes <= 16) return copyEnds<std::uint64_t>(out, in, bytes);
  copyMuchFromCore(out, in, bytes, handover);
}
// Writes past the caches where the processor can (AVX): the memory need not be read first, and the caches keep what
// they hold. Once the function has returned, the data is ordered like other stores.
void copyBytesStreaming(std::byte* out, const std::byte* in, std::size_t bytes);

// Messages of this many bytes or more do not stay in the caches, as the reader's copy takes the same space
// again.
constexpr std::size_t kStreamedMessage = std::size_t{12} << 20;
// Copies a part of a message of `whole` bytes: past the caches if the message is long.
inline void copyPart(std::byte* out, const std::byte* in, std::size_t bytes, std::size_t whole,
                     std::size_t streamsFrom = kStreamedMessage) {
  whole < streamsFrom ? copyBytes(out, in, bytes) : copyBytesStreaming(out, in, bytes);
}

// Memory that the caller reads next: fetched while it writes past the caches, so that the memory has both to do all the time.
struct ReadNext {
  std::span<const std::byte* const> buffers;
  std::size_t at = 0, bytes = 0;  // of each
};
// Copies to one place, or to two if `copy` is not null, past the caches. Ordered like other stores once endStreaming() has returned.
void streamBytes(std::byte* out, std::byte* copy, const std::byte* in, std::size_t bytes,
                 const ReadNext& next = {});
void endStreaming();

}  // namespace xylem
