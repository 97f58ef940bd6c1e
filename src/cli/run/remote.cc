#include "cli/run/remote.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "core/error.h"

namespace xylem::cli {
namespace {

// Arguments: the folder, seconds of grace, NAME=VALUE..., the program and its words. The inner shell has a
// session of its own before anything starts: if the other host is this one, it survives a kill of the
// launcher's process group, to which the outer shell belongs. The program has one more session, so that all
// its processes can be ended together.
constexpr const char* kScript = R"(
IFS= read -r XYLEM_SECRET; export XYLEM_SECRET
cd "$1" || exit 125
shift
exec 3<&0
setsid sh -c '
  grace=$1; shift
  setsid env "$@" </dev/null 3<&- &
  rank=$!
  (while read -r signal; do kill -$signal -$rank; done; kill -TERM -$rank; sleep $grace; kill -KILL -$rank) \
    <&3 3<&- >/dev/null 2>&1 &
  watch=$!
  wait $rank 2>/dev/null; status=$?
  kill $watch 2>/dev/null
  kill -KILL -$rank 2>/dev/null
  exit $status
' "$0" "$@" &
wait $! 2>/dev/null
)";

std::string withHost(const std::string& word, const std::string& host, bool& found) {
  constexpr std::string_view kMark = "{host}";
  const std::size_t at = word.find(kMark);
  if (at == std::string::npos) return word;
  found = true;
  return word.substr(0, at) + host + word.substr(at + kMark.size());
}

}  // namespace

Variables onHost(Variables variables, const std::string& host) {
  bool found = false;
  for (auto& [name, value] : variables) value = withHost(value, host, found);
  return variables;
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += R"('\'')";
    else
      text += c;
  }
  return text + "'";
}

std::vector<std::string> remoteWords(const std::string& launcher, const std::string& host,
                                     const std::vector<std::string>& program, const Variables& variables,
                                     int graceSeconds) {
  std::vector<std::string> words;
  std::istringstream parts(launcher);
  bool found = false;
  std::string tool;  // `env LANG=C ssh {host}` is ssh
  for (std::string part; parts >> part;) {
    const bool isForEnv = tool == "env" && (part.starts_with('-') || part.find('=') != std::string::npos);
    if (tool.empty() || (tool == "env" && !isForEnv)) tool = std::filesystem::path(part).filename().string();
    words.push_back(withHost(part, host, found));
  }
  if (words.empty()) throw InputError({"--launcher", 0}, "nothing", "a command such as `ssh {host}`");
  if (!found) words.push_back(host);

  std::vector<std::string> command = {"sh",
                                      "-c",
                                      kScript,
                                      "xylem-run",
                                      std::filesystem::current_path().string(),
                                      std::to_string(graceSeconds)};
  for (const auto& [name, value] : variables) command.push_back(fmt::format("{}={}", name, value));
  command.insert(command.end(), program.begin(), program.end());

  if (tool != "ssh" && tool != "rsh") {
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + quoted(word);
  words.push_back(line);
  return words;
}

}  // namespace xylem::cli
