#pragma once
// Copies of large pieces of data at any addresses. If source and destination overlap, the result is
// unspecified, but nothing else is written: the addresses come from other ranks and cannot be trusted to be
// disjoint.
//
//   copyBytesStreaming(output, input, bytes);  // much more than the caches hold, and not read again soon

#include <cstddef>

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

// Leaves the written data in the caches, for the core that reads it next.
void copyBytes(std::byte* out, const std::byte* in, std::size_t bytes);
// Copies to memory whose lines are in the cache of another core, which reads them next: with string instructions, where the
// processor has fast ones. They write whole lines without fetching them first.
void copyToCore(std::byte* out, const std::byte* in, std::size_t bytes);
// Copies from memory whose lines are in the cache of another core, which has just written them.
void copyFromCore(std::byte* out, const std::byte* in, std::size_t bytes);
// Writes past the caches where the processor can: the memory need not be read first, and the caches keep what
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

// copyBytesStreaming in pieces: the data is ordered like other stores once endStreaming() has returned.
void streamBytes(std::byte* out, const std::byte* in, std::size_t bytes);
void endStreaming();

}  // namespace xylem
