#pragma once
// Aligned tables.
//
//   Table table({{"graph"}, {"channels", Align::kRight}, {"GB/s", Align::kRight}});
//   table.add({{"ring", Style::kBold}, {"16"}, {"240.0"}});
//   writeOut(table.text(terminalOf(stdout)));

#include <string>
#include <vector>

#include "cli/line_wrap.h"
#include "cli/terminal.h"

namespace xylem::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

struct Cell {
  std::string text;
  Style style = Style::kPlain;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells at the end of the row are empty. Control characters are shown as withoutControls() shows them.
  void add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  // Columns are two blanks apart; those of text are wrapped where the table is wider than the terminal. If that is not
  // enough, the last columns go below each row, or a matrix is cut into several. A table without titles has no head
  // line. The text ends with a newline unless it is empty.
  std::string text(const Terminal& terminal, int indent = 0) const;

 private:
  std::vector<int> widths(const std::vector<std::size_t>& shown, int available) const;
  std::string row(const std::vector<Cell>& cells, const std::vector<std::size_t>& shown,
                  const std::vector<int>& width, const Terminal& terminal, int indent) const;
  bool isMatrix() const;
  std::vector<std::size_t> fitting(std::size_t first, int available) const;
  std::string rest(const std::vector<Cell>& cells, std::size_t first) const;
  std::string narrowText(const Terminal& terminal, int indent, int available,
                         const std::vector<Cell>& head) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace xylem::cli
