#include "cli/table.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace xylem::cli {
namespace {

constexpr int kGap = 2;
// Columns of text do not get narrower than this.
constexpr int kMinWrapWidth = 12;
// How far the last column is moved to the right where it goes below its row.
constexpr int kBelow = 4;

std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

std::string trimmedRight(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The width of columns beside each other.
int together(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(), kGap * (static_cast<int>(widths.size()) - 1));
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

void Table::add(std::vector<Cell> cells) {
  for (Cell& cell : cells) cell.text = withoutControls(cell.text);
  rows_.push_back(std::move(cells));
}

// Every column is as wide as its widest cell. Where that is too much for the terminal, the widest columns of
// text give way, down to their longest word.
std::vector<int> Table::widths(const std::vector<std::size_t>& shown, int available) const {
  std::vector<int> widths;
  std::vector<int> least;
  for (const std::size_t column : shown) {
    const bool isText = columns_[column].align == Align::kLeft;
    int widest = displayWidth(columns_[column].title), narrowest = std::max(widest, kMinWrapWidth);
    for (const auto& row : rows_) {
      if (column >= row.size()) continue;
      widest = std::max(widest, displayWidth(row[column].text));
      narrowest = std::max(narrowest, isText ? longestWord(row[column].text) : widest);
    }
    widths.push_back(widest);
    least.push_back(isText ? narrowest : widest);
  }
  for (int excess = available > 0 ? together(widths) - available : 0; excess > 0; --excess) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] >= widths[widest])) widest = i;
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::row(const std::vector<Cell>& cells, const std::vector<std::size_t>& shown,
                       const std::vector<int>& width, const Terminal& terminal, int indent) const {
  std::vector<std::vector<std::string>> parts(shown.size());
  std::size_t lines = 1;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] >= cells.size()) continue;
    const std::string& text = cells[shown[i]].text;
    parts[i] = displayWidth(text) > width[i] ? wrapped(text, width[i]) : std::vector<std::string>{text};
    lines = std::max(lines, parts[i].size());
  }
  std::string out;
  for (std::size_t part = 0; part < lines; ++part) {
    std::string line = blanks(indent);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::string text = part < parts[i].size() ? parts[i][part] : "";
      const Align align = columns_[shown[i]].align;
      const int missing = width[i] - displayWidth(text);
      if (i > 0) line += blanks(kGap);
      if (align == Align::kRight) line += blanks(missing);
      line += shown[i] < cells.size() ? terminal.paint(cells[shown[i]].style, text) : text;
      if (align == Align::kLeft && i + 1 != shown.size()) line += blanks(missing);
    }
    out += trimmedRight(line) + '\n';
  }
  return out;
}

// True if most columns are numbers or the like, as in a matrix.
bool Table::isMatrix() const {
  const auto numbers = std::count_if(columns_.begin(), columns_.end(),
                                     [](const Column& column) { return column.align == Align::kRight; });
  return 2 * static_cast<std::size_t>(numbers) > columns_.size();
}

// As many of the columns from `first` on as fit beside the first one.
std::vector<std::size_t> Table::fitting(std::size_t first, int available) const {
  std::vector<std::size_t> shown = {0};
  for (std::size_t next = first; next < columns_.size(); ++next) {
    shown.push_back(next);
    if (shown.size() == 2 || together(widths(shown, available)) <= available) continue;
    shown.pop_back();
    break;
  }
  return shown;
}

// The cells from column `first` on as one text, with their titles except for the last.
std::string Table::rest(const std::vector<Cell>& cells, std::size_t first) const {
  std::string text;
  for (std::size_t i = first; i < cells.size(); ++i) {
    const std::string& cell = cells[i].text;
    if (cell.empty() || cell == "-") continue;
    if (!text.empty()) text += "; ";
    const std::string& title = columns_[i].title;
    text += i + 1 == columns_.size() || title.empty() || title == cell ? cell : title + " " + cell;
  }
  return text;
}

// A table that is too wide however its text is wrapped. A matrix is cut into several that each begin with the first
// column. In others the last columns go below their row.
std::string Table::narrowText(const Terminal& terminal, int indent, int available,
                              const std::vector<Cell>& head) const {
  std::string out;
  if (isMatrix()) {
    for (std::size_t next = 1; next < columns_.size();) {
      const std::vector<std::size_t> shown = fitting(next, available);
      const std::vector<int> width = widths(shown, available);
      next = shown.back() + 1;
      if (!out.empty()) out += '\n';
      if (!head.empty()) out += row(head, shown, width, terminal, indent);
      for (const auto& cells : rows_) out += row(cells, shown, width, terminal, indent);
    }
    return out;
  }
  std::vector<std::size_t> shown = fitting(1, available);
  if (shown.size() == columns_.size()) shown.pop_back();
  const std::vector<int> width = widths(shown, available);
  const auto add = [&](const std::vector<Cell>& cells, const std::string& below) {
    out += row(cells, shown, width, terminal, indent);
    if (below.empty()) return;
    for (const std::string& line : wrapped(below, std::max(available - kBelow, kMinWrapWidth)))
      out += blanks(indent + kBelow) + line + '\n';
  };
  if (!head.empty()) add(head, columns_.back().title);
  for (const auto& cells : rows_) add(cells, rest(cells, shown.size()));
  return out;
}

std::string Table::text(const Terminal& terminal, int indent) const {
  std::vector<Cell> head;
  bool titled = false;
  for (const Column& column : columns_) {
    head.push_back({column.title, Style::kBold});
    titled = titled || !column.title.empty();
  }
  if (!titled) head.clear();
  const int available = terminal.width > 0 ? std::max(terminal.width - indent, 1) : 0;
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  const std::vector<int> width = widths(shown, available);
  if (available > 0 && together(width) > available && columns_.size() > 2)
    return narrowText(terminal, indent, available, head);
  std::string out;
  if (titled) out += row(head, shown, width, terminal, indent);
  for (const auto& cells : rows_) out += row(cells, shown, width, terminal, indent);
  return out;
}

}  // namespace xylem::cli
