#include "runtime/transport/choices/choice_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/file_descriptor.h"

namespace xylem::transport {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "xylem-copy-choices-2";
// The parts of a line: boot, processor, pair, choices, numbers.
constexpr std::size_t kParts = 5;

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
  try {
    return ChoiceLine{{parts[0], parts[1], parts[2]}, {CopyChoices::fromText(parts[3]), parts[4]}};
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
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", plainText(key.boot), plainText(key.processor),
                        plainText(key.pair), known.choices.text(), plainText(known.numbers));
  return text;
}

std::string choiceFilePath() {
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/xylem/copy-choices";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/xylem/copy-choices";
  return {};
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
  return text;
}

std::optional<KnownChoices> ChoiceFile::find(const MachineKey& key) const {
  for (ChoiceLine& line : choicesFromText(read()))
    if (line.key == key) return std::move(line.known);
  return std::nullopt;
}

std::string ChoiceFile::remember(const MachineKey& key, const KnownChoices& known) const {
  if (path_.empty()) return "neither HOME nor XDG_CACHE_HOME is an absolute path";
  std::vector<ChoiceLine> lines = choicesFromText(read());
  std::erase_if(lines, [&](const ChoiceLine& line) { return line.key == key; });
  lines.insert(lines.begin(), {key, known});
  lines.resize(std::min(lines.size(), kMaxChoiceLines));
  std::error_code ignored;
  // Not the home folder itself: a user without one keeps nothing.
  const fs::path folder = fs::path(path_).parent_path();
  fs::create_directory(folder.parent_path(), ignored);
  fs::create_directory(folder, ignored);
  std::string mine = path_ + ".XXXXXX";
  const FileDescriptor fd(mkostemp(mine.data(), O_CLOEXEC));
  if (!fd) return fmt::format("cannot write {}: {}", mine, errnoText(errno));
  if (writeAll(fd.get(), textOf(lines)) && rename(mine.c_str(), path_.c_str()) == 0) return {};
  std::string problem = fmt::format("cannot write {}: {}", path_, errnoText(errno));
  unlink(mine.c_str());
  return problem;
}

}  // namespace xylem::transport
