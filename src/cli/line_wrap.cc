#include "cli/line_wrap.h"

#include <algorithm>

namespace xylem::cli {
namespace {

// A continued line has at least this many columns; else it goes on below the start of the line.
constexpr int kLeastBeside = 30;
constexpr int kHanging = 4;

std::size_t indentOf(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// Where the last column of the line begins; where the line begins if it has one only.
std::size_t lastColumnOf(std::string_view line) {
  const std::size_t gap = line.rfind("  ");
  return gap == std::string_view::npos || gap < indentOf(line) ? indentOf(line) : gap + 2;
}

void addFitted(std::string& out, std::string_view line, int width, int further = kHanging) {
  const std::size_t indent = indentOf(line);
  if (displayWidth(line) <= width || (indent < line.size() && line[indent] == '<')) {
    out += line;
    return;
  }
  std::size_t column = lastColumnOf(line);
  std::size_t hanging = static_cast<std::size_t>(displayWidth(line.substr(0, column)));
  if (column == indent || static_cast<int>(hanging) > width - kLeastBeside) {
    // The columns before it are words like others.
    column = indent;
    hanging = std::min(indent + static_cast<std::size_t>(further), static_cast<std::size_t>(width / 2));
  }
  out += line.substr(0, column);
  int used = displayWidth(line.substr(0, column));
  bool first = true;
  for (std::size_t start = column; start < line.size();) {
    const std::size_t blank = std::min(line.find(' ', start), line.size());
    const std::string_view word = line.substr(start, blank - start);
    const std::size_t next = std::min(line.find_first_not_of(' ', blank), line.size());
    const int size = displayWidth(word);
    if (!first && used + size > width) {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      out += '\n' + std::string(hanging, ' ');
      used = static_cast<int>(hanging);
    }
    first = false;
    out += word;
    out.append(next - blank, ' ');
    used += size + static_cast<int>(next - blank);
    start = next;
  }
}

template <typename Line>
void forEachLine(std::string_view page, const Line& line) {
  for (std::size_t start = 0; start < page.size();) {
    const std::size_t end = std::min(page.find('\n', start), page.size());
    line(page.substr(start, end - start), end < page.size());
    start = end + 1;
  }
}

}  // namespace

int displayWidth(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      i = std::min(text.find('m', i), text.size());
    else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80)  // not a continuation byte of UTF-8
      ++width;
  }
  return width;
}

std::vector<std::string> wrapped(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t blank = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, blank - start);
    if (!lines.back().empty() && displayWidth(lines.back()) + 1 + displayWidth(word) > width)
      lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    start = blank + 1;
  }
  return lines;
}

std::string fitted(std::string_view page, int width) {
  std::string out;
  forEachLine(page, [&](std::string_view line, bool ended) {
    addFitted(out, line, width);
    if (ended) out += '\n';
  });
  return out;
}

std::string reflowed(std::string_view page, int width) {
  std::string joined;
  bool open = false;  // a paragraph may go on
  forEachLine(page, [&](std::string_view line, bool) {
    const bool goesOn = !line.empty() && line.front() != ' ';
    if (!joined.empty()) joined += open && goesOn ? ' ' : '\n';
    joined += line;
    open = goesOn && line.back() != ':';
  });
  if (page.ends_with('\n')) joined += '\n';
  std::string out;
  forEachLine(joined, [&](std::string_view line, bool ended) {
    addFitted(out, line, width, line.starts_with(' ') ? kHanging : 0);
    if (ended) out += '\n';
  });
  return out;
}

}  // namespace xylem::cli
