#pragma once
// Runs the real `xylem` as a child process, with an environment of its own and a time limit: to its end, or
// in the background while the test looks at its output and does something to it.
//
//   Outcome run = runCommand({"plan", "host.xml"}, {{"NCCL_DEBUG", "INFO"}});
//   EXPECT_EQ(run.status, 0) << run.errors;
//
//   BackgroundCommand job({"run", "-n", "3", "--", "sleep", "100"});
//   ASSERT_TRUE(await([&] { return job.output().find("ready") != std::string::npos; }));
//   kill(job.pid(), SIGINT);
//   EXPECT_EQ(job.wait(), 130);

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace xylem::testing {

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

// The text of a file; empty if there is none.
std::string contentsOf(const std::filesystem::path& file);

struct Outcome {
  int status = -1;  // exit status; -1 if a signal or the time limit ended the command
  std::string output;
  std::string errors;
};

enum class Stdout { kPipe, kTerminal, kFullDisk };

// The child has only the variables of `environment`, PATH and a HOME without files.
Outcome runCommand(const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& environment = {}, Stdout out = Stdout::kPipe);

class BackgroundCommand {
 public:
  // The child has the same variables as with runCommand.
  explicit BackgroundCommand(const std::vector<std::string>& words,
                             const std::map<std::string, std::string>& environment = {});
  // Kills the child if it has not ended.
  ~BackgroundCommand();
  BackgroundCommand(const BackgroundCommand&) = delete;
  BackgroundCommand& operator=(const BackgroundCommand&) = delete;

  pid_t pid() const { return pid_; }
  // Its text until now.
  std::string output() const;
  std::string errors() const;
  // Returns its exit status, 128 + N for signal N. Kills it after three minutes.
  int wait();

 private:
  ScratchFile output_, errors_;
  pid_t pid_ = -1;
};

// Checks again and again, for half a minute at most. False if `isSo` never returned true.
bool await(const std::function<bool()>& isSo);

// How often `word`, which is not empty, is in the text.
int countOf(const std::string& text, const std::string& word);

// True if the process exists and is no zombie.
bool isAlive(pid_t pid);

// A host with two GPUs of sm 80 below one switch with a NIC of 100 Gb/s, one element per line.
std::string smallHost();
// The same with `from`, which must occur, replaced by `to`.
std::string smallHostWith(const std::string& from, const std::string& to);

}  // namespace xylem::testing
