#include "runtime/comm/watch/host_records.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <sstream>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::comm {
namespace {

namespace fs = std::filesystem;

std::string textOf(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Name and state from `4711 (my program) S 1 ...`. The name may contain any characters, brackets too.
void readStat(const fs::path& folder, SeenProcess& process) {
  const std::string text = textOf(folder / "stat");
  const std::size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return;
  process.program = text.substr(begin + 1, end - begin - 1);
  for (char& c : process.program)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  if (end + 2 < text.size()) process.state = text[end + 2];
}

// The process's id in its own, innermost namespace; 0 if the kernel does not tell.
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

// Reads `bytes` at `offset` of the file. Returns how many there were.
std::size_t readPart(int file, std::span<std::byte> bytes, std::size_t offset) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        pread(file, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

// The memory of a recorder. Rings that no communicator uses, most of the memory, stay zero and are not read.
std::vector<std::byte> bytesOf(const fs::path& file) {
  const FileDescriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!open || fstat(open.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::vector<std::byte> bytes(sizeof(RecordBuffer));
  constexpr std::size_t kRings = offsetof(RecordBuffer, rings);
  std::size_t have = readPart(open.get(), std::span(bytes).first(kRings), 0);
  if (have < kRings) {
    bytes.resize(have);
    return bytes;
  }
  for (std::size_t i = 0; i < kRingsPerBuffer; ++i) {
    const std::size_t ring = kRings + i * sizeof(RecordRing);
    std::uint64_t use = 0;
    const auto head = std::as_writable_bytes(std::span(&use, 1));
    static_assert(offsetof(RecordRing, use) == 0);
    if (readPart(open.get(), head, ring) < head.size()) break;
    if (use != static_cast<std::uint64_t>(RingUse::kFree))
      readPart(open.get(), std::span(bytes).subspan(ring, sizeof(RecordRing)), ring);
  }
  return bytes;
}

// Returns 0 or an errno.
int readRecorders(const fs::path& folder, SeenProcess& process) {
  const std::string wanted = std::string("/memfd:") + kRecordBufferName;
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
    ProcessRecord recorder = readRecordBuffer(bytes);
    // A forked child still has its parent's recorder open.
    if (self == 0 || recorder.pid == self) process.recorders.push_back(std::move(recorder));
  }
  process.seen = ClockReading::now();
  return 0;
}

// Throws InputError if there is no such process, or it cannot be read.
SeenProcess see(pid_t id) {
  const fs::path folder = fmt::format("/proc/{}", id);
  const SourceLocation place{fmt::format("process {}", id), 0};
  if (!fs::exists(folder)) throw InputError(place, "none", "a process that runs here");
  SeenProcess process{.pid = id, .program = {}, .recorders = {}, .seen = {}};
  readStat(folder, process);
  if (const int error = readRecorders(folder, process); error != 0)
    throw InputError(place, errnoText(error), "a process of the same user, or to be root");
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
      // A process that cannot be read belongs to another user, or has just ended.
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

std::vector<SeenProcess> seeProcesses(const std::vector<pid_t>& ids, std::vector<std::string>* leftOut) {
  if (ids.empty()) return seeAll();
  std::vector<SeenProcess> all;
  std::optional<InputError> first;
  for (const pid_t id : ids) {
    SeenProcess process = see(id);
    if (!process.recorders.empty()) {
      all.push_back(std::move(process));
      continue;
    }
    const InputError error({fmt::format("process {}", id), 0},
                           fmt::format("`{}`, which has no flight recorder", process.program),
                           "a process that has made a communicator with Xylem");
    if (leftOut == nullptr) throw InputError(error);
    leftOut->emplace_back(error.what());
    if (!first) first.emplace(error);
  }
  if (all.empty() && first) throw InputError(*first);
  return all;
}

namespace {

bool isOver(const CallRecord& entry) {
  return entry.state == CallState::kDone || entry.state == CallState::kFailed;
}

}  // namespace

std::uint64_t SeenRank::collectives() const {
  if (log.entries.empty()) return 0;
  const CallRecord& last = log.entries.back();
  return last.ordinal + (isPointToPoint(last.call.function) ? 0 : 1);
}

const CallRecord* SeenRank::current() const {
  if (log.wait == WaitKind::kReplay) return nullptr;  // calls stand behind the replay
  // The entry tells more about a waiting call than log.waiting, but may have been overwritten.
  const auto found = std::find_if(log.entries.begin(), log.entries.end(), [&](const CallRecord& entry) {
    return log.waiting ? entry.number == log.waiting->number : !isOver(entry);
  });
  if (found != log.entries.end()) return &*found;
  return log.waiting ? &*log.waiting : nullptr;
}

const CallRecord* SeenRank::collective(std::uint64_t ordinal) const {
  const auto found = std::find_if(log.entries.begin(), log.entries.end(), [&](const CallRecord& entry) {
    return entry.ordinal == ordinal && !isPointToPoint(entry.call.function);
  });
  return found == log.entries.end() ? nullptr : &*found;
}

std::uint64_t SeenRank::waitNanoseconds() const {
  return log.wait == WaitKind::kNone ? 0 : clock.nanosecondsSince(log.waitsSince);
}

const SeenRank* SeenJob::find(int rank) const {
  const auto found =
      std::find_if(seen.begin(), seen.end(), [&](const SeenRank& r) { return r.log.rank == rank; });
  return found == seen.end() ? nullptr : &*found;
}

std::vector<SeenJob> jobsOf(const std::vector<SeenProcess>& processes) {
  std::map<std::uint64_t, SeenJob> jobs;
  for (const SeenProcess& process : processes)
    for (const ProcessRecord& recorder : process.recorders)
      for (const RankRecord& log : recorder.communicators) {
        SeenJob& job = jobs[log.communicator];
        job.communicator = log.communicator;
        job.ranks = log.ranks;
        job.seen.push_back({log, TickClock(recorder.start, process.seen), process.pid, process.program,
                            recorder.host, process.stopped()});
      }
  std::vector<SeenJob> all;
  for (auto& [_, job] : jobs) {
    std::sort(job.seen.begin(), job.seen.end(),
              [](const SeenRank& a, const SeenRank& b) { return a.log.rank < b.log.rank; });
    all.push_back(std::move(job));
  }
  // The job as a whole comes before its parts.
  std::stable_sort(all.begin(), all.end(),
                   [](const SeenJob& a, const SeenJob& b) { return a.ranks > b.ranks; });
  return all;
}

}  // namespace xylem::comm
