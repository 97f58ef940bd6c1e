#pragma once
// An answer for people: the headline, then each rule with its inputs, and what another setting would change.
//
//   writeOut(answerText(answer, terminalOf(stdout)));

#include <string>

#include "cli/terminal.h"
#include "insight/why/answer.h"

namespace xylem::cli {

std::string answerText(const Answer& answer, const Terminal& screen);

}  // namespace xylem::cli
