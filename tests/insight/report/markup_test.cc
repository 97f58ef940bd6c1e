// Layout, SVG, DOT and page as text: all nodes and links are drawn, and no text of a file becomes markup.

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <tinyxml2.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "insight/report/draw_support.h"
#include "insight/report/machine_drawing.h"
#include "insight/report/page.h"
#include "insight/report/picture_json.h"
#include "insight/report/text.h"
#include "planner/plan/json_value.h"
#include "planner_support/any_machine.h"

namespace xylem::report {
namespace {

using namespace testing;  // NOLINT: pictures and machines
using ::testing::HasSubstr;
using ::testing::Not;

bool inside(const Box& inner, float width, float height) {
  return inner.x >= 0 && inner.y >= 0 && inner.x + inner.width <= width + 0.1f &&
         inner.bottom() <= height + 0.1f;
}
bool overlap(const Box& a, const Box& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.bottom() && b.y < a.bottom();
}

void expectTidy(const HostPicture& host) {
  const MachineLayout layout = layOut(host);
  RC_ASSERT(layout.boxes.size() == host.nodes.size());
  for (std::size_t a = 0; a < layout.boxes.size(); ++a) {
    RC_ASSERT(layout.boxes[a].width > 0 && inside(layout.boxes[a], layout.width, layout.height));
    for (std::size_t b = a + 1; b < layout.boxes.size(); ++b)
      RC_ASSERT(!overlap(layout.boxes[a], layout.boxes[b]));
  }
  for (const LinkLine& line : layout.lines) RC_ASSERT(!line.lanes[0].empty() && !line.lanes[1].empty());
}

TEST(Layout, BoxesHaveRoomOfTheirOwn) {
  EXPECT_TRUE(rc::check("on any machine", [] { expectTidy(pictureOfText(anyMachine(), 1).hosts.at(0)); }));
  for (const char* machine : {"dgxh100", "dgx1v", "gb200x4", "gh200x1", "summit", "a40x8-pcie", "pcilink-bcm",
                              "eth-direct-1cpu", "rand-012", "gpu16-rootport-intel"})
    EXPECT_NO_THROW(expectTidy(pictureOf(machine, 2).hosts.at(0))) << machine;
}

bool isXml(const std::string& text) {
  tinyxml2::XMLDocument document;
  return document.Parse(text.c_str(), text.size()) == tinyxml2::XML_SUCCESS;
}

TEST(Svg, HasEveryNodeAndEveryLink) {
  const HostPicture host = pictureOf("dgx1v", 2).hosts.at(0);
  const std::string text = machineSvg(host, layOut(host), {.standalone = true});
  ASSERT_TRUE(isXml(text));
  for (std::size_t i = 0; i < host.nodes.size(); ++i)
    EXPECT_THAT(text, HasSubstr("data-node=\"" + std::to_string(i) + "\""));
  for (std::size_t i = 0; i < host.links.size(); ++i)
    EXPECT_THAT(text, HasSubstr("data-link=\"" + std::to_string(i) + "\""));
  EXPECT_THAT(text, HasSubstr("<style>"));
  EXPECT_EQ(text, machineSvg(host, layOut(host), {.standalone = true}));
}

TEST(Svg, ColoursByHowFullALinkIs) {
  EXPECT_EQ(useLevel(0, 24), 0);
  EXPECT_EQ(useLevel(6, 24), 1);
  EXPECT_EQ(useLevel(6.1f, 24), 2);
  EXPECT_EQ(useLevel(18, 24), 3);
  EXPECT_EQ(useLevel(22, 24), 4);
  EXPECT_EQ(useLevel(24, 24), 5);
  EXPECT_EQ(useLevel(30, 24), 5);
  EXPECT_EQ(useLevel(1, 0), 0);
}

// Names that would do harm as markup, in script, and as text of other kinds.
constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>'\"--><!--{{FACTS}}&\\";

HostPicture hostilePicture(const std::string& name) {
  HostPicture host = pictureOfText(twoGpusOneNic(), 2).hosts.at(0);
  host.title = name;
  for (PictureNode& node : host.nodes) {
    node.label = name + node.label;
    node.detail = name;
    node.source = {name, 3, name};
  }
  return host;
}

TEST(Markup, KeepsHostileNamesText) {
  Picture picture = pictureOfText(twoGpusOneNic(), 2);
  picture.title = picture.summary = kHostile;
  picture.settings = {{kHostile, kHostile}};
  picture.hosts = {hostilePicture(kHostile)};
  const std::string page = pageHtml(picture);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  std::size_t ends = 0;
  for (std::size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1))
    ++ends;
  EXPECT_EQ(ends, 2u);
  EXPECT_TRUE(isXml(machineSvg(picture.hosts[0], layOut(picture.hosts[0]), {.standalone = true})));
}

TEST(Markup, IsWellFormedWhateverTheBytes) {
  EXPECT_TRUE(rc::check("any bytes", [](const std::string& bytes) {
    RC_ASSERT(isXml("<a b=\"" + markupText(bytes) + "\">" + markupText(bytes) + "</a>"));
    const HostPicture host = hostilePicture(bytes);
    RC_ASSERT(isXml(machineSvg(host, layOut(host), {.standalone = true})));
  }));
  EXPECT_EQ(markupText("\xc3\xa4\xe2\x82\xac"), "\xc3\xa4\xe2\x82\xac");
  EXPECT_EQ(markupText("\xff\xc0\xaf\xed\xa0\x80\x01"), [] {
    std::string text;
    for (int i = 0; i < 7; ++i) text += "\xef\xbf\xbd";
    return text;
  }());
}

TEST(Dot, IsWhatGraphvizReads) {
  if (std::system("command -v dot >/dev/null") != 0) GTEST_SKIP() << "graphviz is not installed";
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "xylem_draw_test.dot";
  for (const HostPicture& host : {pictureOf("gb200x4", 2).hosts.at(0), hostilePicture(kHostile)}) {
    std::ofstream(file) << machineDot(host);
    EXPECT_EQ(std::system(("dot -Tplain " + file.string() + " >/dev/null").c_str()), 0);
  }
  std::filesystem::remove(file);
}

TEST(Page, HoldsEverythingItNeeds) {
  Picture picture = pictureOf("dgxh100", 2);
  picture.optimality = {{.what = "ring", .achieved = 360, .bound = 370.8f, .cut = "the NVLinks of GPU 0"}};
  const std::string page = pageHtml(picture);
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* other : {"<link", "src=\"http", "href=\"http", "url(", "@import", "innerHTML", "eval("})
    EXPECT_THAT(page, Not(HasSubstr(other)));
  EXPECT_THAT(plan::jsonText(toJson(picture), -1), HasSubstr("\"cut\":\"the NVLinks of GPU 0\""));
  EXPECT_EQ(page, pageHtml(picture));
}

}  // namespace
}  // namespace xylem::report
