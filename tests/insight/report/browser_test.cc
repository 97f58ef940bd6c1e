// The page in a browser: it loads without errors and every control works (drive_page.js).

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "insight/report/draw_support.h"
#include "insight/report/page.h"
#include "planner_support/machine_text.h"

namespace xylem::report {
namespace {

using namespace testing;  // NOLINT: pictures and machines
using ::testing::HasSubstr;

bool hasBrowser() { return std::system("command -v chromium >/dev/null") == 0; }

std::string contentOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// A temporary folder, removed with its owner.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "xylem_page_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Visit {
  std::string document;  // at the end
  std::string console;
};

// Opens the page, collects its errors, and uses its controls.
Visit visit(std::string page) {
  const Folder folder;
  const std::string collect =
      "<script>window.problems = []; addEventListener('error', (e) => problems.push(e.message));"
      "addEventListener('securitypolicyviolation', (e) => problems.push('blocked ' + "
      "e.blockedURI));</script>\n";
  const std::string facts = "<script type=\"application/json\"";
  page.insert(page.find(facts), collect);
  const std::string drive = contentOf(std::string(XYLEM_SOURCE_DIR) + "/tests/insight/report/drive_page.js");
  page.insert(page.rfind("</body>"), "<script>\n" + drive + "</script>\n");
  std::ofstream(folder.path() / "page.html") << page;
  const std::string command =
      "cd '" + folder.path().string() +
      "' && HOME=. timeout -k 5 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
      "--user-data-dir=profile --enable-logging=stderr --virtual-time-budget=10000 --dump-dom page.html >dom "
      "2>log";
  EXPECT_EQ(std::system(command.c_str()), 0);
  Visit seen{contentOf(folder.path() / "dom"), ""};
  std::istringstream log(contentOf(folder.path() / "log"));
  for (std::string line; std::getline(log, line);)
    if (line.find("CONSOLE") != std::string::npos) seen.console += line + "\n";
  return seen;
}

void expectWell(const Picture& picture) {
  const Visit seen = visit(pageHtml(picture));
  const std::size_t at = seen.document.find("<pre id=\"checked\">");
  ASSERT_NE(at, std::string::npos) << "the page did not come to its end\n" << seen.console;
  EXPECT_EQ(seen.document.substr(at, seen.document.find("</pre>", at) - at),
            "<pre id=\"checked\">all is well");
  EXPECT_EQ(seen.console, "");
}

Picture withAnswers(const why::Inquiry& inquiry) {
  Picture picture = drawPicture(inquiry, {.title = "page"});
  picture.optimality = {{.what = "ring", .achieved = 40, .bound = 48, .cut = "the NICs"}};
  return picture;
}

TEST(Browser, AJobOfTwoHostsWithNvswitches) {
  if (!hasBrowser()) GTEST_SKIP() << "chromium is not installed";
  expectWell(withAnswers(inquiryInto("dgxh100", 2)));
}

TEST(Browser, OneHostWithPciOnly) {
  if (!hasBrowser()) GTEST_SKIP() << "chromium is not installed";
  expectWell(withAnswers(inquiryInto("a40x8-pcie", 1)));
}

TEST(Browser, HostsOfDifferentKinds) {
  if (!hasBrowser()) GTEST_SKIP() << "chromium is not installed";
  plan::PlanRequest request = plan::identicalHosts(topology::readTopology(zooFile("dgx1v")), 1);
  request.hosts.push_back(plan::identicalHosts(topology::readTopology(zooFile("gb200x4")), 2).hosts.front());
  request.hostsListed = true;
  const Picture picture = withAnswers(why::Inquiry(request, Settings::fromPairs({})));
  ASSERT_EQ(picture.hosts.size(), 2u);
  expectWell(picture);
}

// A NIC's name comes from the file, and from there into every part of the page.
TEST(Browser, NamesThatAreMarkupStayNames) {
  if (!hasBrowser()) GTEST_SKIP() << "chromium is not installed";
  std::string text = twoGpusOneNic();
  const std::string name = "mlx5_0";
  text.replace(text.find(name), name.size(),
               "</script><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>");
  const why::Inquiry inquiry(plan::identicalHosts(topology::parseTopology(text, "<b>host</b>.xml"), 2),
                             Settings::fromPairs({}));
  Picture picture = drawPicture(inquiry, {.title = "<script>window.hacked=1</script>"});
  for (PictureNode& node : picture.hosts[0].nodes) node.detail = "<img src=x onerror=\"window.hacked=1\">";
  EXPECT_THAT(picture.job.crossings.at(0).fromNet, HasSubstr("<img src=x"));
  expectWell(picture);
}

}  // namespace
}  // namespace xylem::report
