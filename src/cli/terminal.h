#pragma once
// Output of the commands: colours and line widths where a person looks at a terminal, writing to standard
// output, and warnings.
//
//   const Terminal screen = terminalOf(stdout);
//   writeOut(fmt::format("{} GPUs\n", screen.paint(Style::kBold, "8")));

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::cli {

enum class Style { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };

struct Terminal {
  bool interactive = false;  // the stream is a terminal that has columns
  bool colour = false;       // NO_COLOR is unset and TERM is not "dumb"
  bool unicode = false;      // a terminal in a UTF-8 locale
  int width = 0;             // columns; 0 if nothing limits them

  // The text with the style's escape codes, or unchanged without colour.
  std::string paint(Style style, std::string_view text) const;
  // A head line, with an empty line before it.
  std::string heading(std::string_view text) const;
};

Terminal terminalOf(std::FILE* stream);

// Writes to standard output, in lines that fit a terminal. A failure is only remembered; runCommandLine reports it at
// the end.
void writeOut(std::string_view text);
// The same in lines as they are.
void writeAsIs(std::string_view text);
// The same for JSON, whose levels are indented by `indent` blanks.
void writeJson(const nlohmann::ordered_json& json, int indent = 1);
// The errno of the first failed write to standard output; 0 if there was none.
int outputError();
void noteOutputError(int error);

// The text with `\x1b` for an escape, and so on: what a file or a variable holds must not reach the terminal as commands. For messages on standard error.
std::string withoutControls(std::string_view text);

// Prints "xylem: warning: ..." on standard error, yellow on a terminal.
void warn(std::string_view text);
// All warnings of this process until now, for pages that outlive the terminal.
const std::vector<std::string>& warningsSoFar();

}  // namespace xylem::cli
