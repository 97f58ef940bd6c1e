#include "cli/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/namespaces.h"

namespace xylem::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kTimeLimit(180);

struct Ends {
  int read = -1;
  int write = -1;
};

Ends openPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  return {ends[0], ends[1]};
}

Ends openOutput(Stdout out) {
  if (out == Stdout::kPipe) return openPipe();
  if (out == Stdout::kFullDisk) {
    Ends ends = openPipe();
    close(ends.write);
    ends.write = open("/dev/full", O_WRONLY | O_CLOEXEC);
    return ends;
  }
  Ends ends;
  winsize size{.ws_row = 25, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  if (openpty(&ends.read, &ends.write, nullptr, nullptr, &size) != 0) throw std::runtime_error("openpty");
  return ends;
}

// The test may run where a shell makes background processes ignore these.
void restoreSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
}

[[noreturn]] void becomeCommand(const std::vector<std::string>& words,
                                const std::vector<std::string>& environment, int out, int errors) {
  restoreSignals();
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  std::vector<char*> arguments = {const_cast<char*>(XYLEM_COMMAND)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  execve(XYLEM_COMMAND, arguments.data(), variables.data());
  _exit(127);
}

// Appends the text that can be read. False at the end, which a terminal reports as EIO.
bool drain(int fd, std::string& text) {
  char buffer[4096];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

std::vector<char*> pointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Outcome runCommand(const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& environment, Stdout out) {
  std::vector<std::string> variables = {"PATH=/usr/bin:/bin", "HOME=/nonexistent"};
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const Ends output = openOutput(out);
  const Ends errors = openPipe();
  const pid_t child = fork();
  if (child == 0) becomeCommand(words, variables, output.write, errors.write);
  close(output.write);
  close(errors.write);

  Outcome outcome;
  const Clock::time_point end = Clock::now() + kTimeLimit;
  pollfd waiting[] = {{output.read, POLLIN, 0}, {errors.read, POLLIN, 0}};
  std::string* texts[] = {&outcome.output, &outcome.errors};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0 || poll(waiting, 2, static_cast<int>(left.count())) <= 0) break;
    for (int i = 0; i < 2; ++i)
      if (waiting[i].fd >= 0 && waiting[i].revents != 0 && !drain(waiting[i].fd, *texts[i]))
        waiting[i].fd = -1;
  }
  if (Clock::now() >= end) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(output.read);
  close(errors.read);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

ScratchFile::ScratchFile(const std::string& name, const std::string& text) : name_(name) {
  std::string folder = (std::filesystem::temp_directory_path() / "xylem-cli-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = folder;
  std::ofstream(folder_ / name_) << text;
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string contentsOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string smallHost() {
  return R"(<system version="1">
  <cpu numaid="0" affinity="0000ff0f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:10:00.0" class="0x060400" vendor="0x10b5" device="0x8747" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:12:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1"/>
      </pci>
      <pci busid="0000:13:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="100000" port="1" latency="0" guid="0x1234" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)";
}

std::string smallHostWith(const std::string& from, const std::string& to) {
  std::string text = smallHost();
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no " + from + " in the small host");
  return text.replace(at, from.size(), to);
}

BackgroundCommand::BackgroundCommand(const std::vector<std::string>& words,
                                     const std::map<std::string, std::string>& environment)
    : output_("output", ""), errors_("errors", "") {
  std::vector<std::string> arguments = {XYLEM_COMMAND};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> variables = {"PATH=/usr/bin:/bin", "HOME=/nonexistent"};
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argumentPointers = pointersTo(arguments);
  const std::vector<char*> variablePointers = pointersTo(variables);
  const std::string output = output_.path();
  const std::string errors = errors_.path();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ > 0) return;
  restoreSignals();
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(open(output.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
  dup2(open(errors.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
  execve(XYLEM_COMMAND, argumentPointers.data(), variablePointers.data());
  _exit(127);
}

BackgroundCommand::~BackgroundCommand() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  wait();
}

std::string BackgroundCommand::output() const { return contentsOf(output_.path()); }
std::string BackgroundCommand::errors() const { return contentsOf(errors_.path()); }
int BackgroundCommand::wait() { return waitFor(std::exchange(pid_, -1)); }

bool await(const std::function<bool()>& isSo) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!isSo()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

int countOf(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

bool isAlive(pid_t pid) {
  // "12 (name) S ...": the name may contain any characters.
  const std::string text = contentsOf("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name = text.rfind(") ");
  return name != std::string::npos && text[name + 2] != 'Z' && text[name + 2] != 'X';
}

}  // namespace xylem::testing
