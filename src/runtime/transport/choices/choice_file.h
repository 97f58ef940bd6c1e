#pragma once
// The file in which this user's processes remember what they measured since the machine was started: one line per
// processor and kind of pair of cores, newest first. Many machines may share a home folder, so each start of a machine has a file of its own. The process that makes one
// removes some that are older than three months.
//
//   const MachineKey key{bootId, processor, "cores that share a cache"};
//   const ChoiceFile file = ChoiceFile::of(key);
//   if (const std::optional<KnownChoices> known = file.find(key)) ...
//   file.remember(key, {choices, "send and receive, staged/read in us: 32 KiB 3.1/2.2", 7});
//
// Any number of processes may do so at the same time: each writes a file of its own and renames it, so readers see one of them
// whole. They lock the folder meanwhile, so that no line is lost. If the lock is held for long or there is none, a process goes on
// without, and a line that is lost then is measured again by the next process that needs it. Lines that are damaged are ignored,
// and so is a file that belongs to another user or that others may write to.

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
  int steps = 0;        // of the measurement (collectives/calibration.h) that are done

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

// $XDG_CACHE_HOME/xylem/copy-choices.d/BOOT, or else in ~/.cache; empty if neither variable has an absolute path, or if `boot` is not
// an id as the kernel makes them.
std::string choiceFilePath(const std::string& boot);

class ChoiceFile {
 public:
  // With an empty path nothing is remembered: `reason` says why.
  explicit ChoiceFile(std::string path, std::string reason = "no file")
      : path_(std::move(path)), reason_(std::move(reason)) {}
  // The file that all processes of this user and this start of the machine share. Builds with sanitizers or without optimisation have
  // none: their times are not those of others.
  static ChoiceFile of(const MachineKey& key);

  const std::string& path() const { return path_; }
  std::optional<KnownChoices> find(const MachineKey& key) const;
  // A line of more steps, which another process has written meanwhile, stays for the next one. Returns why nothing could be written; otherwise
  // empty.
  std::string remember(const MachineKey& key, const KnownChoices& known) const;

 private:
  std::string read() const;
  std::string write(std::string_view text) const;

  const std::string path_, reason_;
};

}  // namespace xylem::transport
