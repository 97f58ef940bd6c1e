#pragma once
// Lines that fit the terminal.
//
//   for (const std::string& line : wrapped(text, 30)) ...     // words, beside something else
//   std::fputs(fitted(page, 80).c_str(), stdout);             // a whole page

#include <string>
#include <string_view>
#include <vector>

namespace xylem::cli {

// Columns that a UTF-8 text takes: one per code point, which is right for everything that the commands print, and none
// for codes of colours.
int displayWidth(std::string_view text);

// Breaks a text at blanks into lines of at most `width` columns; longer words stay whole.
std::vector<std::string> wrapped(const std::string& text, int width);

// Breaks the lines that are longer than `width` at blanks. They go on below the last of their columns (parts that two
// blanks or more separate), or a little to the right of their start. Lines of XML stay as they are.
std::string fitted(std::string_view page, int width);

// The same after the lines of each paragraph are joined: lines that begin with no blank and follow one another.
std::string reflowed(std::string_view page, int width);

}  // namespace xylem::cli
