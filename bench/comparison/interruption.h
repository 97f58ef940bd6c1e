#pragma once
// Control-C and friends as an exception, so that everything that was started and made is ended and removed.

namespace xylem::bench {

// From now on SIGINT, SIGTERM and SIGHUP are only remembered.
void rememberInterruptions();
// Throws Error if one came.
void throwIfInterrupted();

}  // namespace xylem::bench
