#pragma once
// Resources of a process that it has to give back: descriptors, threads, mappings of shared memory; not its
// flight recorder, which stays for good.
//
//   const Belongings before = Belongings::now();
//   ...
//   EXPECT_EQ(Belongings::settled(before).beyond(before), "");

#include <map>
#include <string>

namespace xylem::testing {

struct Belongings {
  std::map<std::string, int> files;  // by kind: socket, memfd, eventfd, ...
  int threads = 0;
  int sharedMappings = 0;  // of files without a name
  int mappings = 0;
  std::size_t mappedBytes = 0;
  int sharedMemoryFiles = 0;  // in /dev/shm, of all processes

  static Belongings now();
  // As now(), once it is no more than `before`, or after some seconds: threads end a moment after their work.
  static Belongings settled(const Belongings& before);
  // Lists what is more than `before`. Mappings that the C library makes for threads and memory come and go,
  // so a few of them, and their memory, are allowed.
  std::string beyond(const Belongings& before) const;
};

}  // namespace xylem::testing
