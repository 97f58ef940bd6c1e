#include "core/text_file.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/temporary_directory.h"

namespace xylem {
namespace {

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(WriteFile, ReplacesWhatWasThere) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "file.txt").string();
  writeFile(path, "a long first text");
  writeFile(path, "short");
  EXPECT_EQ(contents(path), "short");
}

std::string refusal(const std::string& path) {
  try {
    writeFile(path, "text");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ResultCode::kSystemError);
    return error.what();
  }
  return "written";
}

TEST(WriteFile, NamesTheFileAndTheReason) {
  EXPECT_EQ(refusal("/no/such/file.txt"), "cannot write /no/such/file.txt: No such file or directory");
  EXPECT_EQ(refusal("/dev/full"), "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace xylem
