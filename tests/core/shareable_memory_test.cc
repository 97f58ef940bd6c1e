#include "core/shareable_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/resize_file.h"
#include "support/sanitizers.h"

namespace xylem {
namespace {

TEST(ShareableMemory, IsAlignedForItsSize) {
  for (const auto& [bytes, alignment] : {std::pair<std::size_t, std::size_t>{0, 256},
                                         {1, 256},
                                         {4095, 256},
                                         {4096, 4096},
                                         {100000, 4096},
                                         {2 << 20, 2 << 20},
                                         {5 << 20, 2 << 20}}) {
    void* data = ShareableMemory::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0u) << bytes;
    if (bytes > 0) std::memset(data, 1, bytes);
    EXPECT_TRUE(ShareableMemory::release(data));
  }
}

TEST(ShareableMemory, PointersIntoItAreFound) {
  auto* data = static_cast<std::byte*>(ShareableMemory::allocate(10000));
  const auto place = ShareableMemory::find(data + 100, 9900);
  ASSERT_TRUE(place);
  const auto start = ShareableMemory::find(data, 10000);
  ASSERT_TRUE(start);
  EXPECT_EQ(place->offset, start->offset + 100);
  int other = 0;
  EXPECT_FALSE(ShareableMemory::find(&other, sizeof other));
  EXPECT_FALSE(ShareableMemory::find(data, SIZE_MAX / 2));
  EXPECT_TRUE(ShareableMemory::release(data));
}

TEST(ShareableMemory, AnotherMappingShowsTheSameBytes) {
  auto* data = static_cast<std::byte*>(ShareableMemory::allocate(3 << 20));
  const auto place = ShareableMemory::find(data, 3 << 20);
  ASSERT_TRUE(place);
  const std::size_t bytes = ShareableMemory::bytes(place->region);
  void* other =
      mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, ShareableMemory::fd(place->region), 0);
  ASSERT_NE(other, MAP_FAILED);
  data[12345] = std::byte{42};
  EXPECT_EQ(static_cast<std::byte*>(other)[place->offset + 12345], std::byte{42});
  munmap(other, bytes);
  ShareableMemory::release(data);
}

TEST(ShareableMemory, RefusesWhatIsNotItsOwn) {
  int other = 0;
  EXPECT_FALSE(ShareableMemory::release(&other));
  auto* data = static_cast<std::byte*>(ShareableMemory::allocate(1000));
  EXPECT_FALSE(ShareableMemory::release(data + 256));
  EXPECT_TRUE(ShareableMemory::release(data));
  EXPECT_FALSE(ShareableMemory::release(data));
}

std::size_t blocksUsed(std::uint32_t region) {
  struct stat status {};
  return fstat(ShareableMemory::fd(region), &status) == 0 ? static_cast<std::size_t>(status.st_blocks) : 0;
}

TEST(ShareableMemory, WhatIsReleasedGoesBackToTheSystem) {
  std::mt19937 random(1);
  std::vector<std::pair<std::byte*, std::size_t>> pieces;
  std::size_t before = 0;
  std::uint32_t region = 0;
  for (int i = 0; i < 2000; ++i) {
    if (pieces.size() < 100 && random() % 3 != 0) {
      const std::size_t bytes = 1 + random() % (random() % 2 == 0 ? 3000 : 300000);
      auto* data = static_cast<std::byte*>(ShareableMemory::allocate(bytes));
      if (pieces.empty() && i == 0) {
        region = ShareableMemory::find(data, 1)->region;
        before = blocksUsed(region);
      }
      std::memset(data, i, bytes);
      for (const auto& [other, size] : pieces) ASSERT_TRUE(data + bytes <= other || other + size <= data);
      pieces.emplace_back(data, bytes);
    } else if (!pieces.empty()) {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      ASSERT_TRUE(ShareableMemory::release(pieces.back().first));
      pieces.pop_back();
    }
  }
  for (const auto& [data, size] : pieces) ShareableMemory::release(data);
  EXPECT_LE(blocksUsed(region), before);
}

// The kernel would end the process with a signal.
TEST(ShareableMemory, IsNotLargerThanFilesMayBe) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    const FileDescriptor file(memfd_create("large", MFD_CLOEXEC));
    if (!resizeFile(file.get(), 1 << 20) || resizeFile(file.get(), (1 << 20) + 1) || errno != EFBIG) _exit(2);
    try {
      // A region has 2 MiB at least, and a child has none of its parent's.
      ShareableMemory::allocate(1);
      _exit(3);
    } catch (const Error& error) {
      _exit(std::string(error.what()).find("File too large") != std::string::npos ? 0 : 4);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Each process maps the memory of all others, and has as much address space as they have.
TEST(ShareableMemory, TakesASmallPartOfAddressesThatAreLimited) {
  if (testing::kSanitized) GTEST_SKIP() << "a sanitizer needs all addresses";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::size_t pages = 0;  // that the process has, with the memory of its parent
    std::ifstream("/proc/self/statm") >> pages;
    const std::size_t bytes = 4096 * pages + (std::size_t{8} << 30);
    const rlimit limit{bytes, bytes};
    if (pages == 0 || setrlimit(RLIMIT_AS, &limit) != 0) _exit(1);
    const void* const data = ShareableMemory::allocate(1000);
    const std::uint32_t region = ShareableMemory::find(data, 1)->region;
    _exit(ShareableMemory::bytes(region) <= bytes / 64 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ShareableMemory, AChildDoesNotTouchItsParentsMemory) {
  auto* data = static_cast<std::byte*>(ShareableMemory::allocate(4096));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto* own = static_cast<std::byte*>(ShareableMemory::allocate(4096));
    std::memset(own, 9, 4096);
    ShareableMemory::release(data);
    _exit(ShareableMemory::find(own, 1)->region != ShareableMemory::find(data, 1)->region ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  auto* next = static_cast<std::byte*>(ShareableMemory::allocate(4096));
  EXPECT_NE(next, data);
  EXPECT_EQ(next[0], std::byte{0});
  ShareableMemory::release(next);
  ShareableMemory::release(data);
}

}  // namespace
}  // namespace xylem
