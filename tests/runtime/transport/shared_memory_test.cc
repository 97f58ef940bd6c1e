#include "runtime/transport/local/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace xylem {
namespace {

TEST(SharedMemory, BothMappingsShowTheSameBytes) {
  const SharedMemory mine = SharedMemory::create("test", 10000);
  EXPECT_EQ(mine.size(), 10000u);
  EXPECT_EQ(mine.data()[9999], std::byte{0});
  const SharedMemory theirs = SharedMemory::open(FileDescriptor(dup(mine.fd())), 10000);
  mine.data()[1234] = std::byte{42};
  EXPECT_EQ(theirs.data()[1234], std::byte{42});
}

TEST(SharedMemory, StaysWhenItsMakerIsGone) {
  SharedMemory mine = SharedMemory::create("test", 4096);
  SharedMemory theirs = SharedMemory::open(FileDescriptor(dup(mine.fd())), 4096);
  mine.data()[0] = std::byte{7};
  mine = SharedMemory();
  EXPECT_EQ(theirs.data()[0], std::byte{7});
}

TEST(SharedMemory, CannotShrinkUnderAMapping) {
  const SharedMemory mine = SharedMemory::create("test", 4096);
  EXPECT_EQ(ftruncate(mine.fd(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, RefusesMemoryThatIsTooSmallOrCouldShrink) {
  const SharedMemory mine = SharedMemory::create("test", 4096);
  EXPECT_THROW(SharedMemory::open(FileDescriptor(dup(mine.fd())), 8192), Error);
  FileDescriptor loose(memfd_create("loose", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(loose.get(), 8192), 0);
  EXPECT_THROW(SharedMemory::open(std::move(loose), 8192), Error);
}

}  // namespace
}  // namespace xylem
