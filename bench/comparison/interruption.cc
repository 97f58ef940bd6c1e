#include "comparison/interruption.h"

#include <signal.h>

#include "core/error.h"

namespace xylem::bench {
namespace {

volatile sig_atomic_t interrupted = 0;

void remember(int signal) { interrupted = signal; }

}  // namespace

void rememberInterruptions() {
  struct sigaction action {};
  action.sa_handler = remember;  // without SA_RESTART: a blocked call returns
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

void throwIfInterrupted() {
  if (interrupted != 0) throw Error(ResultCode::kSystemError, "interrupted");
}

}  // namespace xylem::bench
