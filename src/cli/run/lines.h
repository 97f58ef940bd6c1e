#pragma once
// Turns what a rank writes into whole lines with its number in front, so that the lines of many ranks can be
// mixed and still be told apart.
//
//   LineTagger lines("[3] ");
//   queue += lines.add("half a li");      // nothing yet
//   queue += lines.add("ne\nand");        // "[3] half a line\n"
//   queue += lines.finish();              // "[3] and\n"

#include <string>
#include <string_view>

namespace xylem::cli {

class LineTagger {
 public:
  // Longer lines are cut, so that memory stays bounded.
  static constexpr std::size_t kLongestLine = std::size_t{64} << 10;

  explicit LineTagger(std::string tag) : tag_(std::move(tag)) {}

  // The lines that are complete now.
  std::string add(std::string_view text);
  // What is left, with a newline if there is none.
  std::string finish();

 private:
  std::string tag_;
  std::string partial_;
};

}  // namespace xylem::cli
