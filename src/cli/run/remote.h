#pragma once
// Starting a rank of `xylem run` on another host: the words of a command such as ssh, followed by a small
// shell script that starts the program there. The script's standard input is the rank's lifeline: its first
// line is the job's secret, which thus appears in no list of processes, and its end makes the script end the
// program.
//
//   execvp of remoteWords("ssh {host}", "node7", {"train", "--fast"}, variables, 5)

#include <string>
#include <vector>

#include "cli/run/placement.h"

namespace xylem::cli {

// Splits `launcher` at blanks. {host} stands for the host; without it the host is appended. ssh and rsh, also as
// `env LANG=C ssh`, get one word, for the shell at the other end; other launchers get the words to execute. Throws InputError.
std::vector<std::string> remoteWords(const std::string& launcher, const std::string& host,
                                     const std::vector<std::string>& program, const Variables& variables,
                                     int graceSeconds);

// The variables with {host} in their values replaced by the host.
Variables onHost(Variables variables, const std::string& host);

// The word in single quotes for a shell.
std::string quoted(const std::string& word);

}  // namespace xylem::cli
