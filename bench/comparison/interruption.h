#pragma once
// SIGINT and similar signals as an exception, so that child processes end and folders are removed.

namespace xylem::bench {

// From this call on, SIGINT, SIGTERM and SIGHUP are only remembered.
void rememberInterruptions();
// Throws Error if a signal came.
void throwIfInterrupted();

}  // namespace xylem::bench
