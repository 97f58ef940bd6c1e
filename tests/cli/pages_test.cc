// Manual pages, shell completion and the commands help and version: they have the content of --help, and man
// and the shells can read them.

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "cli/run_command.h"

namespace xylem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The output of a shell's command line; empty if it fails.
std::string shellOutput(const std::string& line) {
  std::FILE* pipe = popen(line.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  return pclose(pipe) == 0 ? output : "";
}

bool isInstalled(const std::string& program) { return !shellOutput("command -v " + program).empty(); }

std::set<std::string> longOptions(const std::string& text) {
  std::set<std::string> found;
  const std::regex option("--[a-z_]+[a-z]");
  for (std::sregex_iterator i(text.begin(), text.end(), option), end; i != end; ++i) found.insert(i->str());
  return found;
}

std::vector<std::string> commands() {
  std::istringstream help(runCommand({"--help"}).output);
  // In groups; options start with a dash, and the examples at the end with the command's own name.
  std::vector<std::string> names;
  for (std::string line; std::getline(help, line) && line != "Examples:";)
    if (line.starts_with("  ") && std::islower(static_cast<unsigned char>(line[2])) != 0)
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

TEST(ManPages, SayWhatTheHelpSays) {
  const std::vector<std::string> all = commands();
  EXPECT_GE(all.size(), 13u);
  for (const std::string& command : all) {
    std::string page = runCommand({"man", command}).output;
    EXPECT_THAT(page, AllOf(StartsWith(".TH XYLEM\\-"), HasSubstr(".SH SYNOPSIS\n\\fBxylem " + command)));
    page = std::regex_replace(page, std::regex("\\\\-"), "-");
    for (const std::string& option : longOptions(runCommand({command, "--help"}).output))
      EXPECT_THAT(page, HasSubstr(option)) << command;
  }
  EXPECT_THAT(runCommand({"man"}).output,
              AllOf(HasSubstr(".SH COMMANDS"), HasSubstr("xylem\\-preflight\\fR(1)")));
  const Outcome wrong = runCommand({"man", "plam"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("plam"));
}

TEST(Help, IsThatOfTheOption) {
  EXPECT_EQ(runCommand({"help"}).output, runCommand({"--help"}).output);
  for (const std::string& command : commands()) {
    const Outcome help = runCommand({"help", command});
    EXPECT_EQ(help.status, 0) << help.errors;
    EXPECT_EQ(help.output, runCommand({command, "--help"}).output) << command;
    EXPECT_THAT(help.output, AllOf(HasSubstr("xylem " + command + " "), Not(HasSubstr("Excludes:"))));
  }
  const Outcome wrong = runCommand({"help", "plam"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("`plam`"), HasSubstr("as plan")));
}

// Readers can type the examples as they stand. Other files are their own, or written by an example.
TEST(Help, ExamplesNameMachinesOfTheZoo) {
  const std::set<std::string> others = {"a.xml",       "b.xml",     "fixed.xml", "graph.xml",
                                        "graph.1.xml", "guest.xml", "host.xml",  "new.xml",
                                        "node.xml",    "old.xml",   "vm.xml",    "NAME.xml"};
  const std::regex file("[A-Za-z0-9_.-]+\\.xml");
  for (const std::string& command : commands()) {
    const std::string help = runCommand({command, "--help"}).output;
    EXPECT_THAT(help, Not(HasSubstr("{false}")));
    for (std::sregex_iterator i(help.begin(), help.end(), file), end; i != end; ++i)
      if (!others.contains(i->str()))
        EXPECT_EQ(runCommand({"zoo", i->str()}).status, 0) << command << ": " << i->str();
  }
}

TEST(Help, EveryCommandHasAGroup) { EXPECT_THAT(runCommand({"--help"}).output, Not(HasSubstr("\nMore:"))); }

TEST(Help, AnUnknownOptionIsOfferedTheNearestOne) {
  EXPECT_THAT(runCommand({"plan", "seed-a40x2", "--node", "2"}).errors, HasSubstr("did you mean --nodes?"));
  // Dashes do not make words alike.
  EXPECT_THAT(runCommand({"plan", "seed-a40x2", "--zq"}).errors,
              AllOf(HasSubstr("no option --zq"), Not(HasSubstr("did you mean"))));
}

TEST(Help, WordsThatACommandDoesNotTakeAreNamedInTheirOrder) {
  EXPECT_THAT(runCommand({"tune", "dgxh100", "allreduce", "1.5M"}).errors,
              HasSubstr("`tune` does not take `allreduce`, `1.5M`; sizes are given as --sizes"));
  EXPECT_THAT(runCommand({"show", "dgxh100", "4K"}).errors,
              AllOf(HasSubstr("`show` does not take `4K`"), Not(HasSubstr("--sizes"))));
}

TEST(Version, IsThatOfTheOption) {
  const Outcome run = runCommand({"version"});
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, StartsWith("xylem "));
  EXPECT_EQ(run.output, runCommand({"--version"}).output);
}

TEST(ManPages, AreAllWrittenAndRight) {
  const ScratchFile scratch("share", "");
  const std::string folder = scratch.folder().string();
  EXPECT_EQ(runCommand({"man", "--output", folder}).status, 0);
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder + "/man1")) {
    ++files;
    EXPECT_GT(file.file_size(), 200u) << file.path();
  }
  EXPECT_EQ(files, commands().size() + 1);
  EXPECT_EQ(runCommand({"man", "--output", "/proc/nowhere"}).status, 1);
  if (!isInstalled("mandoc")) GTEST_SKIP() << "mandoc is not installed";
  // The pages have no date on purpose.
  EXPECT_EQ(
      shellOutput("mandoc -T lint -W warning " + folder + "/man1/*.1 2>&1 | grep -v 'missing date'; true"),
      "");
}

// A file with the completion script of a shell.
class Script {
 public:
  explicit Script(const std::string& shell) : file_("_xylem", runCommand({"completion", shell}).output) {}
  std::string path() const { return file_.path(); }

 private:
  ScratchFile file_;
};

TEST(Completion, Bash) {
  const Script script("bash");
  const auto complete = [&](const std::string& words, int last) {
    return shellOutput("bash -c 'source " + script.path() + "; COMP_WORDS=(" + words +
                       "); COMP_CWORD=" + std::to_string(last) + "; _xylem; echo \"${COMPREPLY[@]}\"'");
  };
  EXPECT_EQ(complete("xylem p", 1), "plan preflight perf\n");
  EXPECT_EQ(complete("xylem perf all_", 2), "all_reduce all_gather\n");
  EXPECT_EQ(complete("xylem perf --it", 2), "--iters\n");
  EXPECT_EQ(complete("xylem run --bind c", 3), "cores\n");
  EXPECT_EQ(complete("xylem plan topo", 2), "\n") << "bash completes files itself";
}

TEST(Completion, Fish) {
  if (!isInstalled("fish")) GTEST_SKIP() << "fish is not installed";
  const Script script("fish");
  const auto complete = [&](const std::string& line) {
    return shellOutput("HOME=" + std::filesystem::path(script.path()).parent_path().string() +
                       " fish -N -c 'source " + script.path() + "; complete -C \"" + line + "\"'");
  };
  EXPECT_THAT(complete("xylem pe"), StartsWith("perf\tmeasure collectives"));
  EXPECT_THAT(complete("xylem perf all_"), AllOf(HasSubstr("all_reduce\n"), Not(HasSubstr("plan"))));
  EXPECT_THAT(complete("xylem perf --it"), StartsWith("--iters\toperations measured"));
  EXPECT_THAT(complete("xylem run --bind c"), HasSubstr("cores\t"));
}

// Types words and Tab into a zsh at a terminal of its own, waits for the completed word, and clears the line.
constexpr const char* kZsh = R"zsh(
zmodload zsh/zpty
zpty shell "PS1= ZDOTDIR=/nonexistent zsh -f -i"
zpty -w shell "autoload -Uz compinit; compinit -D -u; source $1; bindkey '^I' complete-word; bindkey '^U' kill-whole-line; print re''ady"
zpty -r -m shell output '*ready*'
for typed completed in "${@:2}"; do
  zpty -n -w shell "$typed"$'\t'
  zpty -r -m shell output "*$completed*" && print -r -- "$completed"
  zpty -n -w shell $'\025'
done
zpty -d shell
)zsh";

TEST(Completion, Zsh) {
  if (!isInstalled("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Script script("zsh");
  const ScratchFile driver("driver.zsh", kZsh);
  EXPECT_EQ(
      shellOutput("timeout 100 zsh -f " + driver.path() + " " + script.path() +
                  " 'xylem pref' preflight 'xylem perf reduce_' reduce_scatter 'xylem perf --ite' --iters "
                  "'xylem run --bind co' cores 2>/dev/null"),
      "preflight\nreduce_scatter\n--iters\ncores\n");
}

}  // namespace
}  // namespace xylem::testing
