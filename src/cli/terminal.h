#pragma once
// What the commands' output has in common: colour only where a person sees it, the width of the screen, and
// writing to standard output.
//
//   const Terminal screen = terminalOf(stdout);
//   writeOut(fmt::format("{} GPUs\n", screen.paint(Style::kBold, "8")));

#include <cstdio>
#include <string>
#include <string_view>

namespace xylem::cli {

enum class Style { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };

struct Terminal {
  bool interactive = false;  // a person looks at it
  bool colour = false;       // NO_COLOR is unset and TERM is not "dumb"
  bool unicode = false;      // a terminal in a UTF-8 locale
  int width = 0;             // columns; 0 if nothing limits them

  // The text with the style's escape codes, or as it is where there is no colour.
  std::string paint(Style style, std::string_view text) const;
  // The head line of what follows, with an empty line before it.
  std::string heading(std::string_view text) const;
};

Terminal terminalOf(std::FILE* stream);

// Columns a UTF-8 text takes: one per code point, which holds for all that the commands print.
int displayWidth(std::string_view text);

// Writes to standard output. Failure is remembered, not reported: main.cc asks once, at the end.
void writeOut(std::string_view text);
// The errno of the first failed write to standard output; 0 if there was none.
int outputError();
void noteOutputError(int error);

// A remark for the person, on standard error: "xylem: warning: …", yellow on a terminal.
void warn(std::string_view text);

}  // namespace xylem::cli
