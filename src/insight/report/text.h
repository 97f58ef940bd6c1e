#pragma once
// Escapes text of topology files, which may contain anything, for markup, scripts and DOT.
//
//   markupText("<a & b>")     ->   "&lt;a &amp; b&gt;"
//   scriptText("</script>")   ->   "\u003c/script>"

#include <string>
#include <string_view>

namespace xylem::report {

// For XML and HTML, inside elements and quoted attributes; the result is always well-formed. Bytes that are
// not UTF-8 and characters that XML forbids become U+FFFD.
std::string markupText(std::string_view text);

// For JSON inside a script element: nothing in the result ends the element or begins a comment.
std::string scriptText(std::string_view json);

// For a quoted string of Graphviz's DOT language; line breaks become line breaks of the label.
std::string dotText(std::string_view text);

// "24", "20.6", "370.8": GB/s with at most one decimal.
std::string shortBandwidth(float bandwidth);

}  // namespace xylem::report
