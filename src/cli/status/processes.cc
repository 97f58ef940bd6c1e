#include "cli/status/processes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/comm/watch/flight_layout.h"
#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::cli {
namespace {

namespace fs = std::filesystem;

std::string textOf(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// `4711 (my program) S 1 ...`: the name may have any characters, brackets too.
void readStat(const fs::path& folder, SeenProcess& process) {
  const std::string text = textOf(folder / "stat");
  const std::size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return;
  process.program = text.substr(begin + 1, end - begin - 1);
  for (char& c : process.program)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  if (end + 2 < text.size()) process.state = text[end + 2];
}

// The id by which the process knows itself: the innermost of its namespaces'. 0 where the kernel does not
// say.
std::int64_t ownId(const fs::path& folder) {
  std::ifstream in(folder / "status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream ids(line.substr(line.find(':') + 1));
    std::int64_t id = 0;
    while (ids >> id) {
    }
    return id;
  }
  return 0;
}

std::vector<std::byte> bytesOf(const fs::path& file) {
  const FileDescriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!open || fstat(open.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::vector<std::byte> bytes(sizeof(FlightArea));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = pread(open.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

// What went wrong, as an errno; 0: nothing did.
int readRecorders(const fs::path& folder, SeenProcess& process) {
  const std::string wanted = std::string("/memfd:") + kFlightName;
  std::error_code error;
  fs::directory_iterator files(folder / "fd", error);
  if (error) return error.value();
  const std::int64_t self = ownId(folder);
  for (; files != fs::directory_iterator(); files.increment(error)) {
    if (error) return error.value();
    std::error_code gone;
    if (!fs::read_symlink(files->path(), gone).string().starts_with(wanted)) continue;
    const std::vector<std::byte> bytes = bytesOf(files->path());
    if (bytes.empty()) continue;
    FlightProcess recorder = readFlightArea(bytes);
    // After a fork a child still has its parent's open.
    if (self == 0 || recorder.pid == self) process.recorders.push_back(std::move(recorder));
  }
  process.seen = FlightMoment::now();
  return 0;
}

SeenProcess see(pid_t id) {
  const fs::path folder = fmt::format("/proc/{}", id);
  const SourceLocation place{fmt::format("process {}", id), 0};
  if (!fs::exists(folder)) throw InputError(place, "none", "a process that runs here");
  SeenProcess process{.pid = id, .program = {}, .recorders = {}, .seen = {}};
  readStat(folder, process);
  if (const int error = readRecorders(folder, process); error != 0)
    throw InputError(place, errnoText(error), "a process of the same user, or to be root");
  if (process.recorders.empty())
    throw InputError(place, fmt::format("`{}`, which has no flight recorder", process.program),
                     "a process that has made a communicator with Xylem");
  return process;
}

std::vector<SeenProcess> seeAll() {
  std::vector<SeenProcess> all;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    SeenProcess process;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), process.pid);
    if (bad != std::errc() || end != name.data() + name.size()) continue;
    readStat(entry->path(), process);
    try {
      // Whoever cannot be looked into is somebody else's, or has just ended.
      if (readRecorders(entry->path(), process) != 0 || process.recorders.empty()) continue;
    } catch (const Error&) {
      continue;
    }
    all.push_back(std::move(process));
  }
  std::sort(all.begin(), all.end(), [](const SeenProcess& a, const SeenProcess& b) { return a.pid < b.pid; });
  return all;
}

}  // namespace

std::vector<SeenProcess> seeProcesses(const std::vector<pid_t>& ids) {
  if (ids.empty()) return seeAll();
  std::vector<SeenProcess> all;
  for (const pid_t id : ids) all.push_back(see(id));
  return all;
}

}  // namespace xylem::cli
