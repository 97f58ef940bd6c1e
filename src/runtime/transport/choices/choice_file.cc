#include "runtime/transport/choices/choice_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <thread>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::transport {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "xylem-copy-choices-6";
// The parts of a line: boot, processor, pair, steps, choices, numbers.
constexpr std::size_t kParts = 6;
constexpr int kMostSteps = 100;

// Code without optimisation, or with sanitizers, copies slowly, and the kernel does not: other builds would choose wrong by its times.
#if defined(__OPTIMIZE__) && !defined(XYLEM_ADDRESS_SANITIZER) && !defined(XYLEM_THREAD_SANITIZER)
constexpr bool kTimesAreUsual = true;
#else
constexpr bool kTimesAreUsual = false;
#endif

constexpr std::size_t kBootIdLength = 36;  // a UUID
constexpr std::time_t kDaySeconds = std::time_t{24} * 3600;
constexpr std::time_t kKeptSeconds = 90 * kDaySeconds, kRenewedSeconds = 7 * kDaySeconds;
// A new file looks at some of the others only, as each look takes a while on a network file system.
constexpr std::size_t kListedFiles = 4096, kLooksForOldFiles = 64;
constexpr int kLockTries = 250;
constexpr std::chrono::milliseconds kLockPause{2};

std::string_view takeUpTo(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

// Control characters could command a terminal, or end a part of a line.
bool isPlain(std::string_view part) {
  return std::all_of(part.begin(), part.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

std::optional<ChoiceLine> lineFromText(std::string_view text) {
  if (std::count(text.begin(), text.end(), '\t') != kParts - 1) return std::nullopt;
  std::array<std::string, kParts> parts;
  for (std::string& part : parts) {
    part = takeUpTo(text, '\t');
    if (!isPlain(part)) return std::nullopt;
  }
  const std::string& count = parts[3];
  int steps = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), steps);
  if (error != std::errc() || end != count.data() + count.size() || steps < 1 || steps > kMostSteps)
    return std::nullopt;
  try {
    const CopyChoices choices = CopyChoices::fromText(parts[4]);
    // A line that lacks choices was not written by this program.
    if (choices.text() != parts[4]) return std::nullopt;
    return ChoiceLine{{parts[0], parts[1], parts[2]}, {choices, parts[5], steps}};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string plainText(std::string text) {
  for (char& c : text)
    if (!isPlain({&c, 1})) c = ' ';
  return text;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool isBootId(std::string_view text) {
  if (text.size() != kBootIdLength) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool isDash = i == 8 || i == 13 || i == 18 || i == 23;
    if (isDash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  return true;
}

// Another user might have made it a link to a folder of this one's.
bool isOwnFolder(const fs::path& folder) {
  struct stat status {};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// All that write a file of this boot run under one kernel. It keeps the locks of folders itself, also those of NFS, so a lock needs no
// file and no server. Where there is none, or another process keeps it for half a second, this one goes on without.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int tries = 1; fd_ && flock(fd_.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
      if (errno != EWOULDBLOCK || tries == kLockTries) return;
      std::this_thread::sleep_for(kLockPause);
    }
  }
  // A child that another thread has forked meanwhile still has the descriptor.
  ~FolderLock() {
    if (fd_) flock(fd_.get(), LOCK_UN);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  const FileDescriptor fd_;
};

// Removes files that nothing has written for long: those of earlier boots, and what is left of a writer that was killed. Boot ids are
// random, so each boot begins at another place of the list.
void removeOldBeside(const fs::path& mine) {
  if (!isOwnFolder(mine.parent_path())) return;
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator file(mine.parent_path(), error), end;
       !error && file != end && files.size() < kListedFiles; file.increment(error))
    files.push_back(file->path());
  const std::size_t first = std::hash<std::string>()(mine.string());
  const std::time_t now = std::time(nullptr);
  for (std::size_t i = 0; i < std::min(files.size(), kLooksForOldFiles); ++i) {
    const fs::path& file = files[(first % files.size() + i) % files.size()];
    struct stat status {};
    if (isBootId(file.filename().string().substr(0, kBootIdLength)) && lstat(file.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode) && status.st_uid == geteuid() && now - status.st_mtime > kKeptSeconds)
      unlink(file.c_str());
  }
}

}  // namespace

std::vector<ChoiceLine> choicesFromText(std::string_view text) {
  std::vector<ChoiceLine> lines;
  if (takeUpTo(text, '\n') != kFirstLine) return lines;
  while (!text.empty() && lines.size() < kMaxChoiceLines)
    if (auto line = lineFromText(takeUpTo(text, '\n'))) lines.push_back(std::move(*line));
  return lines;
}

std::string textOf(const std::vector<ChoiceLine>& lines) {
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const auto& [key, known] : lines)
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", plainText(key.boot), plainText(key.processor),
                        plainText(key.pair), known.steps, known.choices.text(), plainText(known.numbers));
  return text;
}

std::string choiceFilePath(const std::string& boot) {
  if (!isBootId(boot)) return {};
  // Earlier versions have a file `copy-choices` there.
  const std::string file = "/xylem/copy-choices.d/" + boot;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + file;
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache" + file;
  return {};
}

ChoiceFile ChoiceFile::of(const MachineKey& key) {
  if (!kTimesAreUsual) return ChoiceFile({}, "no file, as this build has sanitizers or is not optimised");
  return ChoiceFile(
      choiceFilePath(key.boot),
      "no file, as neither HOME nor XDG_CACHE_HOME is an absolute path, or the kernel tells no boot id");
}

// Empty if there is no such file, or none that this process may believe.
std::string ChoiceFile::read() const {
  const FileDescriptor fd(
      path_.empty() ? -1 : open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return {};
  std::string text(std::min(static_cast<std::size_t>(status.st_size), kMaxChoiceFileBytes), '\0');
  std::size_t got = 0;
  for (ssize_t n = 1; got < text.size() && n > 0; got += static_cast<std::size_t>(n))
    if (n = ::read(fd.get(), text.data() + got, text.size() - got); n < 0) return {};
  text.resize(got);
  // The file of a machine that is up for long is in use, and not old.
  if (std::time(nullptr) - status.st_mtime > kRenewedSeconds) futimens(fd.get(), nullptr);
  return text;
}

std::optional<KnownChoices> ChoiceFile::find(const MachineKey& key) const {
  for (ChoiceLine& line : choicesFromText(read()))
    if (line.key == key) return std::move(line.known);
  return std::nullopt;
}

std::string ChoiceFile::remember(const MachineKey& key, const KnownChoices& known) const {
  if (path_.empty()) return reason_;
  std::error_code ignored;
  const fs::path folder = fs::path(path_).parent_path(), ours = folder.parent_path();
  // Not the home folder itself: a user without one keeps nothing.
  for (const fs::path& made : {ours.parent_path(), ours, folder}) fs::create_directory(made, ignored);
  bool isNew = false;
  std::string problem;
  {
    const FolderLock lock(folder);
    std::vector<ChoiceLine> lines = choicesFromText(read());
    const auto more = [&](const ChoiceLine& line) {
      return line.key == key && line.known.steps > known.steps;
    };
    if (std::ranges::any_of(lines, more)) return {};
    isNew = lines.empty();
    std::erase_if(lines, [&](const ChoiceLine& line) { return line.key == key; });
    lines.insert(lines.begin(), {key, known});
    lines.resize(std::min(lines.size(), kMaxChoiceLines));
    problem = write(textOf(lines));
  }
  if (isNew) removeOldBeside(path_);
  return problem;
}

// Returns why it could not; empty if it could.
std::string ChoiceFile::write(std::string_view text) const {
  std::string mine = path_ + ".XXXXXX";
  const FileDescriptor fd(mkostemp(mine.data(), O_CLOEXEC));
  if (!fd) return fmt::format("cannot write {}: {}", mine, errnoText(errno));
  if (writeAll(fd.get(), text) && rename(mine.c_str(), path_.c_str()) == 0) return {};
  std::string problem = fmt::format("cannot write {}: {}", path_, errnoText(errno));
  unlink(mine.c_str());
  return problem;
}

}  // namespace xylem::transport
