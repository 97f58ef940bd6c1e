#pragma once
// How `xylem run` starts a rank on another host: the words of a command such as ssh, followed by a small
// shell script that starts the program there. Standard input is the rank's lifeline: its first line is the
// job's secret, which so never appears in a list of processes, and its end makes the script end the program.
//
//   execvp of remoteWords("ssh {host}", "node7", {"train", "--fast"}, variables, 5)

#include <string>
#include <vector>

#include "cli/run/environment.h"

namespace xylem::cli {

// `launcher` is split at blanks; {host} stands for the host, which comes last if it does not occur. ssh and
// rsh get one word for the shell at the other end, others get words to execute.
std::vector<std::string> remoteWords(const std::string& launcher, const std::string& host,
                                     const std::vector<std::string>& program, const Variables& variables,
                                     int graceSeconds);

// The variables of a rank on this host: {host} in their values stands for it.
Variables onHost(Variables variables, const std::string& host);

// For a shell, as one word.
std::string quoted(const std::string& word);

}  // namespace xylem::cli
