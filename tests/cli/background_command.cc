#include "cli/background_command.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/namespaces.h"

namespace xylem::testing {
namespace {

std::string readAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<char*> pointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

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

std::string BackgroundCommand::output() const { return readAll(output_.path()); }
std::string BackgroundCommand::errors() const { return readAll(errors_.path()); }
int BackgroundCommand::wait() { return waitFor(std::exchange(pid_, -1)); }

bool await(const std::function<bool()>& isSo) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!isSo()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

bool isAlive(pid_t pid) {
  // "12 (name) S ...": the name may have anything in it.
  const std::string text = readAll("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name = text.rfind(") ");
  return name != std::string::npos && text[name + 2] != 'Z' && text[name + 2] != 'X';
}

}  // namespace xylem::testing
