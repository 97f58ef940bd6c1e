#pragma once
// Puts memory that other processes often read through the kernel into huge pages. The kernel looks up each page that it reads, which
// on some machines takes as long as to copy 4 KiB.
//
//   HugePages pages(choices.hugePages != 0);
//   pages.willBeRead(buffer, bytes);   // each time
//
// Only whole huge pages of 2 MiB inside of what is read are touched, so a program has no more memory after it than before, unless it had
// never written it or shares it with a child. Programs read and write the memory meanwhile as ever. Nothing is done where the machine's
// administrator wants no huge pages, or the kernel is older than Linux 6.1.

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace xylem::transport {

class HugePages {
 public:
  explicit HugePages(bool wanted) : wanted_(wanted) {}

  // Others are about to read this memory. The kOften-th time takes longer, as the kernel copies it into huge pages then: 0.1 to 2 ms for
  // each, and about 50 ms together; the next times go on.
  void willBeRead(const std::byte* data, std::size_t bytes);

  // A huge page costs what 5 to 50 reads gain by it, depending on the machine.
  static constexpr std::uint32_t kOften = 16;

 private:
  bool wanted_, hasAsked_ = false;
  std::unordered_map<std::uintptr_t, std::uint32_t> reads_;  // by the number of the huge page
};

}  // namespace xylem::transport
