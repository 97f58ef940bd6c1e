#include "cli/table.h"

#include <algorithm>

namespace xylem::cli {
namespace {

constexpr int kGap = 2;
// A narrower last column is not wrapped.
constexpr int kMinWrapWidth = 24;

std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

// Breaks at blanks into lines of at most `width` columns; longer words stay whole.
std::vector<std::string> wrap(const std::string& text, int width) {
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

std::string trimmedRight(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::vector<int> Table::widths() const {
  std::vector<int> widths;
  for (const Column& column : columns_) widths.push_back(displayWidth(column.title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], displayWidth(row[i].text));
  return widths;
}

std::string Table::text(const Terminal& terminal, int indent) const {
  // Every column is as wide as its widest cell. Only the last one may be too wide for the terminal: if it is
  // text, it continues on the next lines, below where it started.
  const std::vector<int> width = widths();
  const std::size_t last = columns_.size() - 1;
  int lastStart = indent;
  for (std::size_t i = 0; i < last; ++i) lastStart += width[i] + kGap;
  const int lastWidth = terminal.width - lastStart;
  const bool wrapLast =
      terminal.width > 0 && lastWidth >= kMinWrapWidth && columns_[last].align == Align::kLeft;

  std::string out;
  const auto addLine = [&](const std::vector<Cell>& cells) {
    std::string line = blanks(indent);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell cell = i < cells.size() ? cells[i] : Cell{};
      if (i > 0) line += blanks(kGap);
      const int missing = width[i] - displayWidth(cell.text);
      if (columns_[i].align == Align::kRight) line += blanks(missing);
      if (i == last && wrapLast) {
        const std::vector<std::string> parts = wrap(cell.text, lastWidth);
        for (std::size_t part = 0; part < parts.size(); ++part) {
          if (part > 0) line += '\n' + blanks(lastStart);
          line += terminal.paint(cell.style, parts[part]);
        }
        break;
      }
      line += terminal.paint(cell.style, cell.text);
      if (columns_[i].align == Align::kLeft && i != last) line += blanks(missing);
    }
    out += trimmedRight(line) + '\n';
  };

  std::vector<Cell> head;
  bool titled = false;
  for (const Column& column : columns_) {
    head.push_back({column.title, Style::kBold});
    titled = titled || !column.title.empty();
  }
  if (titled) addLine(head);
  for (const auto& row : rows_) addLine(row);
  return out;
}

}  // namespace xylem::cli
