#include "faults/belongings.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "faults/fault_job.h"
#include "support/shared_memory_files.h"

namespace xylem::testing {
namespace {

using namespace std::chrono_literals;

// Sanitizers map memory at any time, and may start a thread of their own.
constexpr int kMappingsOfTheSystem = kSanitized ? 100000 : 16;
constexpr std::size_t kBytesOfTheSystem = std::size_t{kSanitized ? 1 << 30 : 128} << 20;
constexpr int kThreadsOfTheSystem = kSanitized ? 1 : 0;
constexpr auto kPatience = 10s;

template <typename Visit>
void forEachIn(const char* folder, Visit visit) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    visit(entry->path());
}

// Each process that ever had a communicator keeps one.
constexpr std::string_view kFlightRecorder = "/memfd:xylem flight recorder";

// `socket:[4711]` and `/memfd:xylem queues (deleted)`, without the part that differs between two of a kind.
std::string kindOf(const std::string& link) {
  if (link.starts_with("/memfd:")) return link;
  return link.substr(0, link.find('['));
}

void readMappings(Belongings& found) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    ++found.mappings;
    found.mappedBytes += end - begin;
    if (line.find("/memfd:") != std::string::npos && line.find(kFlightRecorder) == std::string::npos)
      ++found.sharedMappings;
  }
}

}  // namespace

Belongings Belongings::now() {
  Belongings found;
  forEachIn("/proc/self/fd", [&](const std::filesystem::path& path) {
    std::error_code error;
    const std::string link = std::filesystem::read_symlink(path, error).string();
    // The descriptor of this search is closed by now.
    if (!error && link.find("/proc/") != 0 && !link.starts_with(kFlightRecorder)) ++found.files[kindOf(link)];
  });
  forEachIn("/proc/self/task", [&](const auto&) { ++found.threads; });
  found.sharedMemoryFiles = testing::sharedMemoryFiles();
  readMappings(found);
  return found;
}

Belongings Belongings::settled(const Belongings& before) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Belongings found = now();
    if (found.beyond(before).empty() || std::chrono::steady_clock::now() > end) return found;
    std::this_thread::sleep_for(1ms);
  }
}

std::string Belongings::beyond(const Belongings& before) const {
  std::string text;
  for (const auto& [kind, count] : files) {
    const auto old = before.files.find(kind);
    const int had = old == before.files.end() ? 0 : old->second;
    if (count > had) text += fmt::format("{} {}, before {}; ", count, kind, had);
  }
  if (threads > before.threads + kThreadsOfTheSystem)
    text += fmt::format("{} threads, before {}; ", threads, before.threads);
  if (sharedMappings > before.sharedMappings)
    text += fmt::format("{} mappings of shared memory, before {}; ", sharedMappings, before.sharedMappings);
  if (mappings > before.mappings + kMappingsOfTheSystem)
    text += fmt::format("{} mappings, before {}; ", mappings, before.mappings);
  if (mappedBytes > before.mappedBytes + kBytesOfTheSystem)
    text += fmt::format("{} bytes mapped, before {}; ", mappedBytes, before.mappedBytes);
  if (sharedMemoryFiles > before.sharedMemoryFiles)
    text += fmt::format("{} files in /dev/shm, before {}; ", sharedMemoryFiles, before.sharedMemoryFiles);
  return text;
}

}  // namespace xylem::testing
