#pragma once
// Runs the real `xylem` as a child, with an environment of its own and a limit on time.
//
//   Outcome run = runCommand({"plan", "host.xml"}, {{"NCCL_DEBUG", "INFO"}});
//   EXPECT_EQ(run.status, 0) << run.errors;

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace xylem::testing {

struct Outcome {
  int status = -1;  // exit status; -1 if a signal or the time limit ended it
  std::string output;
  std::string errors;
};

enum class Stdout { kPipe, kTerminal, kFullDisk };

// The child sees only `environment`, PATH and a HOME without files.
Outcome runCommand(const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& environment = {}, Stdout out = Stdout::kPipe);

// A file that goes away with its owner.
class ScratchFile {
 public:
  ScratchFile(const std::string& name, const std::string& text);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::string path() const { return (folder_ / name_).string(); }
  std::filesystem::path folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::string name_;
};

// A host with two sm 80 GPUs below one switch with a NIC of 100 Gb/s, one element per line.
std::string smallHost();
// The same with `from`, which has to occur, replaced by `to`.
std::string smallHostWith(const std::string& from, const std::string& to);

}  // namespace xylem::testing
