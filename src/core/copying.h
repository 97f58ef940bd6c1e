#pragma once
// Copies of large pieces of data, which may lie at any address. They should not overlap, and then what is
// written is anybody's guess; but where buffers lie is what other ranks say, so it does no more harm than
// that.
//
//   copyBytesStreaming(output, input, bytes);  // much more than the caches hold, and not read again soon

#include <cstddef>

namespace xylem {

constexpr std::size_t kCacheLine = 64;

// Takes a line from other cores, ahead of writing to it.
inline void prefetchToWrite(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const std::byte*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

// Leaves what it writes in the caches, for whoever reads it next.
void copyBytes(std::byte* out, const std::byte* in, std::size_t bytes);
// To memory that another core has read, and reads next. Of a few KiB line by line where that core is near:
// the string instructions that the C library takes for them wait for its lines longer; for those of a core
// that is far away they wait half as long.
void copyToCore(std::byte* out, const std::byte* in, std::size_t bytes, bool isNear);
// Whether it matters how far it is.
constexpr bool distanceMatters(std::size_t bytes) {
  constexpr std::size_t kBelowStrings = std::size_t{2} << 10, kMostByLines = std::size_t{8} << 10;
  return bytes > kBelowStrings && bytes <= kMostByLines;
}
// Writes past the caches where the processor can: memory is not read to be written, and what the caches hold
// stays there. Other cores see the data as after other stores once the function has returned.
void copyBytesStreaming(std::byte* out, const std::byte* in, std::size_t bytes);

// From so many bytes on a message, of which the reader has as much again, is more than caches keep.
constexpr std::size_t kStreamedMessage = std::size_t{12} << 20;
// A part of a message of `whole` bytes: past the caches if that is long.
inline void copyPart(std::byte* out, const std::byte* in, std::size_t bytes, std::size_t whole) {
  whole < kStreamedMessage ? copyBytes(out, in, bytes) : copyBytesStreaming(out, in, bytes);
}

// The same in pieces: other cores see them as after other stores once endStreaming() has returned.
void streamBytes(std::byte* out, const std::byte* in, std::size_t bytes);
void endStreaming();

}  // namespace xylem
