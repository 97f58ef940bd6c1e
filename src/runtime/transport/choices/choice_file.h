#pragma once
// The file in which this user's processes remember what they measured: one line per boot of a machine and pair of cores, newest
// first. Home folders are shared by machines, so lines of others stay.
//
//   const MachineKey key{bootId, processor, "near"};
//   ChoiceFile file(choiceFilePath());
//   if (const std::optional<KnownChoices> known = file.find(key)) ...
//   file.remember(key, {choices, "send/receive of 32 KiB: 3.1 us staged, 2.2 us read"});
//
// Any number of processes may do so at the same time: each writes a file of its own and renames it, so readers see one of them
// whole. If two remember at once, one line may be lost, and is measured again by the next process that needs it. Lines that are
// damaged are ignored, and so is a file that belongs to another user or that others may write to.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/transport/choices/copy_choices.h"

namespace xylem::transport {

// The machine since it was started, and how two of its cores lie: what measurements are valid for. No tabs or line ends.
struct MachineKey {
  std::string boot;       // the kernel's boot id
  std::string processor;  // its model
  std::string pair;       // of cores

  bool operator==(const MachineKey&) const = default;
};

struct KnownChoices {
  CopyChoices choices;
  std::string numbers;  // the measured times, for people; one line

  bool operator==(const KnownChoices&) const = default;
};

struct ChoiceLine {
  MachineKey key;
  KnownChoices known;
};

// A file's text has at most this many lines: older ones are forgotten.
constexpr std::size_t kMaxChoiceLines = 64;
constexpr std::size_t kMaxChoiceFileBytes = std::size_t{256} << 10;

// Lines that are damaged are left out; all of them if the first line does not say that this is such a file.
std::vector<ChoiceLine> choicesFromText(std::string_view text);
std::string textOf(const std::vector<ChoiceLine>& lines);

// $XDG_CACHE_HOME/xylem/copy-choices, or ~/.cache/xylem/copy-choices; empty if neither variable has an absolute path.
std::string choiceFilePath();

class ChoiceFile {
 public:
  // An empty path: nothing is remembered.
  explicit ChoiceFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::optional<KnownChoices> find(const MachineKey& key) const;
  // Returns why it could not be written; empty if it was.
  std::string remember(const MachineKey& key, const KnownChoices& known) const;

 private:
  std::string read() const;

  const std::string path_;
};

}  // namespace xylem::transport
