// Lines and tables that fit a terminal.

#include "cli/line_wrap.h"

#include <gmock/gmock.h>

#include "cli/table.h"

namespace xylem::cli {
namespace {

Terminal wide(int columns) {
  Terminal terminal;
  terminal.width = columns;
  return terminal;
}

TEST(Lines, GoOnBelowTheirLastColumn) {
  EXPECT_EQ(fitted("short\n", 20), "short\n");
  EXPECT_EQ(fitted("  one two three four five six", 16), "  one two three\n      four five\n      six");
  EXPECT_EQ(fitted("  name  what the name is for, in many words\n", 40),
            "  name  what the name is for, in many\n        words\n");
  EXPECT_EQ(fitted("  \033[1mname\033[0m is bold", 14), "  \033[1mname\033[0m is bold")
      << "colours take no columns";
  EXPECT_EQ(fitted("  <pci busid=\"0000:18:00.0\" class=\"0x020700\"/>", 20),
            "  <pci busid=\"0000:18:00.0\" class=\"0x020700\"/>");
  EXPECT_EQ(reflowed("one two\nthree\n\nHead:\n  item\n", 40), "one two three\n\nHead:\n  item\n");
}

TEST(Tables, FitWhereTheyCan) {
  Table notes({{"name"}, {"value", Align::kRight}, {"what it is for"}});
  notes.add({{"NCCL_ALGORITHM"}, {"123456"}, {"a text of some length"}});
  EXPECT_EQ(notes.text(wide(0)),
            "name             value  what it is for\nNCCL_ALGORITHM  123456  a text of some length\n");
  EXPECT_EQ(notes.text(wide(40)),
            "name             value  what it is for\nNCCL_ALGORITHM  123456  a text of some\n"
            "                        length\n");
  EXPECT_EQ(
      notes.text(wide(26)),
      "name             value\n    what it is for\nNCCL_ALGORITHM  123456\n    a text of some length\n");

  Table matrix({{""}, {"GPU0", Align::kRight}, {"GPU1", Align::kRight}, {"GPU2", Align::kRight}});
  matrix.add({{"GPU0"}, {"X"}, {"NVL"}, {"SYS"}});
  EXPECT_EQ(matrix.text(wide(16)), "      GPU0  GPU1\nGPU0     X   NVL\n\n      GPU2\nGPU0   SYS\n");
}

}  // namespace
}  // namespace xylem::cli
