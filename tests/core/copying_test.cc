#include "core/copying.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace xylem {
namespace {

using Copy = void (*)(std::byte*, const std::byte*, std::size_t);

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  return made;
}

// The bytes beside the copy must not change.
void check(Copy copy, const std::vector<std::byte>& in, std::size_t from, std::size_t to, std::size_t bytes) {
  constexpr std::byte kBeside{0x5a};
  std::vector<std::byte> out(to + bytes + 64, kBeside);
  copy(out.data() + to, in.data() + from, bytes);
  const auto start = out.begin() + static_cast<std::ptrdiff_t>(to);
  const auto end = start + static_cast<std::ptrdiff_t>(bytes);
  const auto isBeside = [&](std::byte b) { return b == kBeside; };
  ASSERT_TRUE(std::equal(start, end, in.begin() + static_cast<std::ptrdiff_t>(from)))
      << bytes << " bytes from " << from << " to " << to;
  ASSERT_TRUE(std::all_of(out.begin(), start, isBeside) && std::all_of(end, out.end(), isBeside))
      << bytes << " bytes from " << from << " to " << to;
}

struct Kind {
  const char* name;
  Copy copy;
};
class Copies : public ::testing::TestWithParam<Kind> {};

TEST_P(Copies, AreExactForAnyLengthAndAlignment) {
  const std::vector<std::byte> in = pattern(1024);
  for (std::size_t bytes = 0; bytes <= 300; ++bytes)
    for (std::size_t from = 0; from < 64; from += 7)
      for (std::size_t to = 0; to < 64; to += 5) check(GetParam().copy, in, from, to, bytes);
}

TEST_P(Copies, AreExactWhenLarge) {
  const std::vector<std::byte> in = pattern((1 << 20) + 64);
  for (const std::size_t bytes :
       {std::size_t{1023}, std::size_t{1024}, std::size_t{4096}, std::size_t{65537}, std::size_t{1} << 20})
    for (const std::size_t shift : {0, 1, 31, 63}) check(GetParam().copy, in, shift, 63 - shift, bytes);
}

TEST_P(Copies, OfNothingTouchNothing) { GetParam().copy(nullptr, nullptr, 0); }

TEST(StreamBytes, WritesTwoOutputsWhereverTheyBegin) {
  constexpr std::byte kBeside{0x5a};
  const std::vector<std::byte> in = pattern(1024);
  const std::byte* const next[] = {in.data(), in.data() + 64};
  for (std::size_t bytes = 0; bytes <= 600; bytes += 37)
    for (std::size_t first = 0; first < 64; first += 7)
      for (const std::size_t second : {first, first + 64, first + 3}) {
        std::vector<std::byte> out(bytes + 256, kBeside), copy = out;
        streamBytes(out.data() + first, copy.data() + second, in.data() + 1, bytes,
                    {.buffers = next, .at = 7, .bytes = bytes / 2});
        endStreaming();
        std::vector<std::byte> expected(out.size(), kBeside), expectedCopy = expected;
        std::copy_n(in.data() + 1, bytes, expected.data() + first);
        std::copy_n(in.data() + 1, bytes, expectedCopy.data() + second);
        ASSERT_EQ(out, expected) << bytes << " bytes to " << first;
        ASSERT_EQ(copy, expectedCopy) << bytes << " bytes to " << second;
      }
}

template <Handover kHandover>
void toCore(std::byte* out, const std::byte* in, std::size_t bytes) {
  copyToCore(out, in, bytes, kHandover);
}
template <Handover kHandover>
void fromCore(std::byte* out, const std::byte* in, std::size_t bytes) {
  copyFromCore(out, in, bytes, kHandover);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Copies,
                         ::testing::Values(Kind{"cached", &copyBytes}, Kind{"little", &copyLittle},
                                           Kind{"streaming", &copyBytesStreaming},
                                           Kind{"toNearCore", &toCore<Handover::kNearCache>},
                                           Kind{"toFarCore", &toCore<Handover::kFarCache>},
                                           Kind{"toMemory", &toCore<Handover::kMemory>},
                                           Kind{"fromNearCore", &fromCore<Handover::kNearCache>},
                                           Kind{"fromFarCore", &fromCore<Handover::kFarCache>},
                                           Kind{"fromMemory", &fromCore<Handover::kMemory>}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace xylem
