#pragma once
// Text of a description, which may hold anything, as it goes into markup and JSON.
//
//   markupText("<a & b>")     ->   "&lt;a &amp; b&gt;"
//   scriptText("</script>")   ->   "\u003c/script>"

#include <string>
#include <string_view>

namespace xylem {

// For XML and HTML, inside elements and quoted attributes: always well-formed. What is no UTF-8 and what XML
// does not know becomes U+FFFD.
std::string markupText(std::string_view text);

// JSON for a script element: no byte of it ends the element or begins a comment.
std::string scriptText(std::string_view json);

// For a quoted string of Graphviz's DOT language; every line break is one of the label.
std::string dotText(std::string_view text);

// "24", "20.6", "370.8": GB/s with no more digits than tell something.
std::string shortBandwidth(float bandwidth);

}  // namespace xylem
