#include "cli/table.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace xylem::cli {
namespace {

constexpr int kGap = 2;
// Columns of text do not get narrower than this.
constexpr int kMinWrapWidth = 12;

std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

std::string trimmedRight(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

int longestWord(const std::string& text) {
  int longest = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t blank = std::min(text.find(' ', start), text.size());
    longest = std::max(longest, displayWidth(std::string_view(text).substr(start, blank - start)));
    start = blank + 1;
  }
  return longest;
}

}  // namespace

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

// Every column is as wide as its widest cell. Where that is too much for the terminal, the widest columns of
// text give way, down to their longest word.
std::vector<int> Table::widths(int available) const {
  std::vector<int> widths;
  std::vector<int> least;
  for (const Column& column : columns_) {
    widths.push_back(displayWidth(column.title));
    least.push_back(std::max(widths.back(), kMinWrapWidth));
  }
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], displayWidth(row[i].text));
      least[i] = std::max(least[i], columns_[i].align == Align::kLeft ? longestWord(row[i].text) : widths[i]);
    }
  const int gaps = kGap * (static_cast<int>(widths.size()) - 1);
  int excess = available > 0 ? std::accumulate(widths.begin(), widths.end(), gaps) - available : 0;
  for (; excess > 0; --excess) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (columns_[i].align == Align::kLeft && widths[i] > least[i] &&
          (widest == widths.size() || widths[i] >= widths[widest]))
        widest = i;
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::text(const Terminal& terminal, int indent) const {
  const std::vector<int> width = widths(terminal.width > 0 ? std::max(terminal.width - indent, 1) : 0);
  const std::size_t last = columns_.size() - 1;
  std::string out;
  const auto addRow = [&](const std::vector<Cell>& cells) {
    std::vector<std::vector<std::string>> parts(columns_.size());
    std::size_t lines = 1;
    for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
      parts[i] = displayWidth(cells[i].text) > width[i] ? wrapped(cells[i].text, width[i])
                                                        : std::vector<std::string>{cells[i].text};
      lines = std::max(lines, parts[i].size());
    }
    for (std::size_t part = 0; part < lines; ++part) {
      std::string line = blanks(indent);
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::string text = part < parts[i].size() ? parts[i][part] : "";
        if (i > 0) line += blanks(kGap);
        const int missing = width[i] - displayWidth(text);
        if (columns_[i].align == Align::kRight) line += blanks(missing);
        line += i < cells.size() ? terminal.paint(cells[i].style, text) : text;
        if (columns_[i].align == Align::kLeft && i != last) line += blanks(missing);
      }
      out += trimmedRight(line) + '\n';
    }
  };

  std::vector<Cell> head;
  bool titled = false;
  for (const Column& column : columns_) {
    head.push_back({column.title, Style::kBold});
    titled = titled || !column.title.empty();
  }
  if (titled) addRow(head);
  for (const auto& row : rows_) addRow(row);
  return out;
}

}  // namespace xylem::cli
