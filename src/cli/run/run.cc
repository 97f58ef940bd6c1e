// xylem run: a program on several ranks, here and on other hosts.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/run/drop_in.h"
#include "cli/run/launcher.h"
#include "cli/run/placement.h"
#include "cli/run/remote.h"
#include "core/error.h"
#include "core/settings.h"

namespace xylem::cli {
namespace {

constexpr int kMaxRanks = 4096;
constexpr int kMaxSeconds = 30 * 86400;
// As timeout(1) returns when time is up.
constexpr int kTimedOut = 124;
// As shells return for a program that cannot be executed.
constexpr int kCannotExecute = 126;
constexpr const char* kSsh = "ssh -o BatchMode=yes {host}";

// As given.
struct RunArguments {
  int ranks = 0;
  std::string hosts, launcher;
  std::vector<std::string> exports;
  bool noPrefix = false, asNccl = false;
  std::string bind = "none";
  int port = 0, timeout = 0, grace = 5;
};

// Checked, and with the values that are chosen here.
struct RunOptions {
  std::vector<std::string> program;
  std::vector<RankPlace> places;  // by rank
  RunMeeting meeting;
  std::string launcher;
  bool launchesHere = false;  // use the launcher for this host, too
  Variables exports;          // besides those of rankVariables
  bool prefix = true;
  bool bindsCores = false;
  int timeoutSeconds = 0;  // 0: no limit
  int graceSeconds = 5;

  bool isHere(const RankPlace& place) const { return !launchesHere && isThisHost(place.host); }
};

constexpr const char* kRunExamples = R"(Examples:
  xylem run -n 4 -- ./program --fast           4 ranks on this machine
  xylem run --hosts a:2,b:2 -- ./program       ranks 0 and 1 on a, 2 and 3 on b, by ssh
  xylem run -n 8 --hosts a,b -x PATH -- ./program
                                               4 on each, with this PATH
  NCCL_COMM_ID=10.213.0.1:9999 xylem run --hosts red:1,blue:1 --launcher "ip netns exec {host}" -x NCCL_HOSTID={host} -- ./program
                                               in network namespaces, which have no names to meet at
  mpirun -n 2 xylem run --as-nccl -- ./built-for-nccl
                                               a program that was built for NCCL and CUDA 12, as one rank of MPI's
  xylem run -n 2 --timeout 60 -- ./program || echo "failed with $?"

Every rank has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, what Open MPI and MPICH
call these, NCCL_COMM_ID, so that ncclGetUniqueId gives the same id everywhere, and XYLEM_SECRET, which only the
job's ranks know. Ranks on other hosts also get this shell's NCCL_* and XYLEM_* variables and what -x names; they
start in a folder of the same name.

With --as-nccl the program finds Xylem's libraries under NCCL's and CUDA's names (libnccl.so.2, libcudart.so.12,
libcuda.so.1); on GPUs (XYLEM_DEVICE=gpu) under NCCL's alone, beside NVIDIA's CUDA. Without -n and --hosts it is
then executed as it is, with this one variable (LD_LIBRARY_PATH) more.

Every line of output gets its rank in front. Standard input goes to rank 0, if that runs here. When a rank fails,
the others are told to end (SIGTERM), and killed if they do not; so they are when this command is interrupted.
SIGUSR1 and SIGUSR2 go to all ranks.
Exit status: that of the rank that failed first, 128 and more for signals; 124 when time was up.)";

// Throws InputError if a shell would not find the program: one message before anything starts, instead of one
// per rank.
void requireProgram(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (access(program.c_str(), X_OK) == 0) return;
  } else {
    const char* variable = std::getenv("PATH");
    const std::string_view path = variable == nullptr ? "/usr/bin:/bin" : variable;
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t end = std::min(path.find(':', at), path.size());
      const std::string folder(path.substr(at, end - at));
      if (access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0) return;
      at = end + 1;
    }
  }
  throw InputError({"PROGRAM", 0}, "`" + program + "`", "a program that can be executed");
}

// The variables that ranks get besides those of rankVariables: this shell's for NCCL and Xylem, and those of
// -x.
Variables exportsFor(const RunArguments& options) {
  Variables exports;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const bool ours = name.starts_with("NCCL_") || name.starts_with("XYLEM_");
    if (equals == std::string_view::npos || !ours || name == "XYLEM_SECRET" || name == "XYLEM_RUN_LAUNCHER")
      continue;
    exports.emplace_back(name, text.substr(equals + 1));
  }
  for (const std::string& wanted : options.exports) {
    const std::size_t equals = wanted.find('=');
    const std::string name = wanted.substr(0, equals);
    if (name.empty()) throw InputError({"-x", 0}, "`" + wanted + "`", "NAME or NAME=VALUE");
    if (isSetByRun(name))
      throw InputError({"-x", 0}, "`" + wanted + "`",
                       "another variable: this one is set for each rank; NCCL_COMM_ID and XYLEM_SECRET are "
                       "taken from the environment of `xylem run`");
    if (equals != std::string::npos)
      exports.emplace_back(name, wanted.substr(equals + 1));
    else if (const char* value = std::getenv(name.c_str()))
      exports.emplace_back(name, value);
  }
  return exports;
}

// Puts the libraries under NCCL's names in front of those that the program would find.
void addDropIn(Variables& exports) {
  const auto exported = [&](const char* name, const std::string& otherwise) {
    const auto given = std::find_if(exports.rbegin(), exports.rend(),
                                    [name](const auto& entry) { return entry.first == name; });
    return given != exports.rend() ? given->second : otherwise;
  };
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  const std::string device = Settings::fromEnvironment().text(Setting::kDevice);
  exports.emplace_back("LD_LIBRARY_PATH", dropInPath(exported("LD_LIBRARY_PATH", path == nullptr ? "" : path),
                                                     exported("XYLEM_DEVICE", device) == "gpu"));
}

// A launcher that the user names may know this host by another name than ours, so it also starts the ranks
// here.
void chooseLauncher(const RunArguments& options, RunOptions& run) {
  run.launcher = options.launcher;
  if (run.launcher.empty()) run.launcher = Settings::fromEnvironment().text(Setting::kRunLauncher);
  run.launchesHere = !run.launcher.empty();
  if (!run.launchesHere) run.launcher = kSsh;
}

RunOptions resolve(const RunArguments& options, std::vector<std::string> program) {
  RunOptions run;
  if (program.empty()) throw InputError({"PROGRAM", 0}, "nothing", "the program to run, after --");
  run.program = std::move(program);
  if (options.ranks == 0 && options.hosts.empty())
    throw InputError({"-n", 0}, "nothing", "the number of ranks");
  run.places = placeRanks(parseRunHosts(options.hosts.empty() ? "localhost" : options.hosts), options.ranks);
  if (!options.hosts.empty()) chooseLauncher(options, run);
  const bool allHere = std::all_of(run.places.begin(), run.places.end(),
                                   [&](const RankPlace& place) { return run.isHere(place); });
  run.bindsCores = options.bind == "cores";
  if (run.bindsCores && !allHere)
    throw InputError(
        {"--bind", 0}, "cores with --hosts",
        "none: the CPUs of other hosts are not known here; bind in a script that starts the program");
  if (allHere)
    requireProgram(run.program.front());
  else
    remoteWords(run.launcher, run.places.front().host, run.program, {}, 0);  // throws InputError
  run.meeting = meetingFor(run.places, options.port);
  run.exports = exportsFor(options);
  if (options.asNccl) addDropIn(run.exports);
  run.prefix = !options.noPrefix;
  run.timeoutSeconds = options.timeout;
  run.graceSeconds = options.grace;
  return run;
}

// Becomes the program. Returns the exit status if that fails.
int execute(std::vector<std::string> words) {
  signal(SIGPIPE, SIG_DFL);  // ignored in this command, and the program would inherit that
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  fmt::print(stderr, "xylem: cannot execute {}: {}\n", words.front(), errnoText(errno));
  return kCannotExecute;
}

// Whether the program is executed as it is: nothing is asked for that needs ranks of this command.
bool isAlone(const RunArguments& options) {
  return options.asNccl && options.ranks == 0 && options.hosts.empty() && options.launcher.empty() &&
         options.timeout == 0 && options.port == 0 && options.bind == "none";
}

// Executes a program that starts its ranks itself, or is a rank of another launcher.
int runAlone(const RunArguments& options, std::vector<std::string> program) {
  if (program.empty()) throw InputError({"PROGRAM", 0}, "nothing", "the program to run, after --");
  requireProgram(program.front());
  Variables exports = exportsFor(options);
  addDropIn(exports);
  for (const auto& [name, value] : exports) setenv(name.c_str(), value.c_str(), 1);
  return execute(std::move(program));
}

// In a rank's new process: executes the program here, or the launcher that reaches the rank's host. Returns
// the exit status if that fails.
int becomeProgram(const RunOptions& options, int rank) {
  const RankPlace& place = options.places[static_cast<std::size_t>(rank)];
  std::vector<std::string> words = options.program;
  Variables variables = rankVariables(place, rank, options.meeting);
  const Variables exports = onHost(options.exports, place.host);
  if (options.isHere(place)) {
    for (const auto& [name, value] : exports) setenv(name.c_str(), value.c_str(), 1);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    setenv("XYLEM_SECRET", options.meeting.secret.c_str(), 1);
    if (options.bindsCores) bindTo(shareOf(usableCpus(), place.localRank, place.localRanks));
  } else {
    variables.insert(variables.begin(), exports.begin(), exports.end());
    words = remoteWords(options.launcher, place.host, options.program, variables, options.graceSeconds);
  }
  return execute(std::move(words));
}

int runRanks(const RunOptions& options) {
  const auto onTimeout = [&](Launcher& launcher) {
    launcher.end(kTimedOut, SIGTERM, fmt::format("not done after {} s", options.timeoutSeconds));
  };
  Launcher launcher({.graceSeconds = options.graceSeconds, .onTimeout = onTimeout});
  if (options.timeoutSeconds > 0)
    launcher.setTimeout(Deadline::after(std::chrono::seconds(options.timeoutSeconds)));
  for (std::size_t i = 0; i < options.places.size(); ++i) {
    const auto rank = static_cast<int>(i);
    ProcessStart start{.rank = rank,
                       .host = options.places[i].host,
                       .run = [&options, rank] { return becomeProgram(options, rank); },
                       .prefix = options.prefix};
    const bool isHere = options.isHere(options.places[i]);
    if (!isHere) start.lifeline = options.meeting.secret + "\n";
    if (rank == 0 && isHere)
      launcher.startWithInput(std::move(start));
    else
      launcher.start(std::move(start));
  }
  return launcher.run();
}

}  // namespace

void addRun(CommandLine& line) {
  const auto o = std::make_shared<RunArguments>();
  Command command = line.add("run", "start a program on several ranks: xylem run -n N -- PROGRAM ARGUMENTS");
  command.option("-n,--ranks", o->ranks, "number of ranks (default: what --hosts says)")
      .value("N")
      .within(1, kMaxRanks);
  command.option("--hosts", o->hosts, "where, and how many on each: a:2,b:2; without numbers evenly")
      .value("HOST[:N],...");
  command
      .option("--launcher", o->launcher,
              "command that executes on a host (default XYLEM_RUN_LAUNCHER, else " + std::string(kSsh) + ")")
      .value("COMMAND");
  command
      .option("-x,--export", o->exports,
              "variable for ranks on other hosts, or NAME=VALUE for all; {host} is the rank's")
      .value("NAME[=VALUE]")
      .takesOne();
  command.flag("--as-nccl", o->asNccl,
               "the program was built for NCCL and CUDA 12: it finds Xylem under their libraries' names");
  command.flag("--no-prefix", o->noPrefix, "give ranks this command's own output and errors");
  command.option("--bind", o->bind, "cores: each rank its share of this host's CPUs; none (default)")
      .value("WHAT")
      .oneOf({"cores", "none"});
  command.option("--timeout", o->timeout, "end the job after this time (default: never)")
      .value("SECONDS")
      .within(1, kMaxSeconds);
  command.option("--grace", o->grace, "between SIGTERM and SIGKILL (default 5)")
      .value("SECONDS")
      .within(0, 3600);
  command.option("--port", o->port, "MASTER_PORT, and one less than NCCL_COMM_ID's (default: free ones)")
      .value("PORT")
      .within(1, 65534);
  command.footer(kRunExamples);
  command.actionOnProgram([o](const std::vector<std::string>& program) {
    return isAlone(*o) ? runAlone(*o, program) : runRanks(resolve(*o, program));
  });
}

}  // namespace xylem::cli
