// Texts that the reader of topology files refuses, with file, line, found and expected. The corpus of the
// topology fuzzer replays every input that once broke something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz/replay.h"
#include "fuzz/topology_input.h"
#include "planner/topology/document.h"

namespace xylem::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace fs = std::filesystem;

std::string refusal(std::string_view text) {
  try {
    parseTopology(text, "bad.xml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct Case {
  const char* name;
  std::string text;
  const char* start;  // of the message
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Refusal : public ::testing::TestWithParam<Case> {};

TEST_P(Refusal, NamesFileLineFoundAndExpected) {
  const std::string message = refusal(GetParam().text);
  EXPECT_THAT(message, StartsWith(GetParam().start));
  EXPECT_THAT(message, HasSubstr("; expected "));
  EXPECT_LT(message.size(), 250u);
}

std::string system(const std::string& inside) {
  return "<system version=\"1\">\n" + inside + "\n</system>\n";
}

INSTANTIATE_TEST_SUITE_P(
    Topology, Refusal,
    ::testing::Values(
        Case{"Empty", "", "bad.xml:1: found no element"},
        Case{"OnlyBlanks", " \n\t\n", "bad.xml:3: found no element"},
        Case{"OnlyAComment", "<!-- nothing -->", "bad.xml:1: found no element"},
        Case{"OnlyADeclaration", "<?xml version=\"1.0\"?>", "bad.xml:1: found no element"},
        Case{"Binary", "\x7f\x45LF\x02\x01", "bad.xml:1: found text outside of tags: `?ELF??`"},
        Case{"NulByte", system("<cpu numaid=\"0\"/>") + std::string(3, '\0'), "bad.xml:4: found a NUL byte"},
        Case{"NulInValue", system(std::string("<cpu numaid=\"") + '\0' + "\"/>"),
             "bad.xml:2: found a NUL byte"},
        Case{"Json", "{\"gpus\": 8}", "bad.xml:1: found text outside of tags: `{\"gpus\": 8}`"},
        Case{"WrongRoot", "<graphs version=\"1\"/>", "bad.xml:1: found the element graphs as the root"},
        Case{"TwoRoots", system("") + system(""), "bad.xml:4: found a second root element system"},
        Case{"NoVersion", "<system/>", "bad.xml:1: found system without `version`"},
        Case{"OtherVersion", "\n<system version=\"2\"/>", "bad.xml:2: found version=\"2\""},
        Case{"VersionNotANumber", "<system version=\"one\"/>", "bad.xml:1: found version=\"one\""},
        Case{"Truncated", "<system version=\"1\">\n  <cpu numaid=\"0\">\n",
             "bad.xml:3: found the end of the file"},
        Case{"TruncatedTag", "<system version=\"1\">\n  <cpu numaid=\"0\"\n",
             "bad.xml:2: found a tag that does not end"},
        Case{"TruncatedName", "<system version=\"1\">\n<cp", "bad.xml:2: found a tag that does not end"},
        Case{"TruncatedValue", "<system version=\"1", "bad.xml:1: found a value that does not end"},
        Case{"TruncatedComment", "<system version=\"1\">\n<!-- ->",
             "bad.xml:2: found a comment that does not end"},
        Case{"ShortComment", "<!-->\n<system version=\"1\"/>",
             "bad.xml:1: found a comment that does not end"},
        Case{"TruncatedClosingTag", "<system version=\"1\"></system", "bad.xml:1: found the end of the file"},
        Case{"TruncatedDeclaration", "<?xml", "bad.xml:1: found a declaration that does not end"},
        Case{"LateDeclaration", system("<?xml version=\"1.0\"?>"), "bad.xml:2: found `<?xml"},
        Case{"MismatchedTag", system("<cpu numaid=\"0\">\n</pci>"),
             "bad.xml:2: found an element `cpu` without its own"},
        Case{"ClosingOnly", "</system>", "bad.xml:1: found the closing tag `</system>`"},
        Case{"ClosedTwice", system("") + "</system>", "bad.xml:4: found the closing tag `</system>`"},
        Case{"ClosingWithAttribute", "<system version=\"1\"></system a=\"1\">",
             "bad.xml:1: found `a=\"1\">`"},
        Case{"Text", system("<cpu numaid=\"0\"/> GPUs follow"),
             "bad.xml:2: found text outside of tags: `GPUs follow`"},
        Case{"TextInUnknown", system("<note>hello</note>"), "bad.xml:2: found text outside of tags"},
        Case{"Cdata", system("<![CDATA[ x ]]>"), "bad.xml:2: found `<![CDATA[ x ]]>`"},
        Case{"Doctype", "<!DOCTYPE a [<!ENTITY b \"&c;&c;\">]>\n" + system("&b;"),
             "bad.xml:1: found `<!DOCTYPE a"},
        Case{"Entity", system("&lt;cpu/&gt;"), "bad.xml:2: found text outside of tags: `&lt;cpu/&gt;`"},
        Case{"DuplicateAttribute", system("<cpu numaid=\"0\"\n numaid=\"1\"/>"),
             "bad.xml:3: found the attribute `numaid` twice in one element"},
        Case{"MixedQuotes", system("<cpu numaid='0\"/>"),
             "bad.xml:2: found a value that does not end; expected `'`"},
        Case{"NoQuotes", system("<cpu numaid=0/>"),
             "bad.xml:2: found the attribute `numaid` without a value in"},
        Case{"NoValue", system("<cpu numaid/>"), "bad.xml:2: found the word `numaid`"},
        Case{"StrayQuote", system("<cpu numaid=\"0\"\"/>"), "bad.xml:2: found `\"/>`"},
        Case{"NoBlank", system("<cpu numaid=\"0\"arch=\"x\"/><"), "bad.xml:"},
        Case{"TagInTag", system("<cpu <pci/>"), "bad.xml:2: found `<pci/>`"},
        Case{"NoName", system("< cpu/>"), "bad.xml:2: found "},
        Case{"EmptyTag", system("<>"), "bad.xml:2: found "},
        Case{"NameOfDigits", system("<1/>"), "bad.xml:2: found "},
        Case{"AttributeOfDigits", system("<cpu 1=\"2\"/>"), "bad.xml:2: found "},
        Case{"SlashInTag", system("<cpu / numaid=\"0\">"), "bad.xml:"},
        Case{"LongName", system("<" + std::string(256, 'a') + "/>"),
             "bad.xml:2: found an element name of 256"},
        Case{"LongKey", system("<cpu " + std::string(256, 'a') + "=\"\"/>"),
             "bad.xml:2: found an attribute name of 256"},
        Case{"LongValue", system("<cpu a=\"" + std::string(4097, 'a') + "\"/>"),
             "bad.xml:2: found a value of 4097"}),
    [](const auto& test) { return std::string(test.param.name); });

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(RefusalLimits, DepthOf100000) {
  const std::string deep = repeated("<pci busid=\"0\">", 100'000) + repeated("</pci>", 100'000);
  EXPECT_THAT(refusal(system(deep)), StartsWith("bad.xml:2: found elements nested deeper than 64"));
}

TEST(RefusalLimits, TakesAHundredThousandElements) {
  const std::string wide =
      "<cpu numaid=\"0\" arch=\"x86_64\">" +
      repeated(
          "<pci busid=\"0000:01:00.0\" class=\"0x060400\" vendor=\"0x10b5\" device=\"0x9765\" "
          "subsystem_vendor=\"0x10b5\" subsystem_device=\"0x9765\" link_speed=\"8.0 GT/s\" "
          "link_width=\"16\"/>\n",
          100'000) +
      "</cpu>";
  EXPECT_EQ(parseTopology(system(wide), "wide.xml").size(), 100'002u);
}

TEST(RefusalLimits, MoreElementsCommentsOrAttributesThanTheLimit) {
  EXPECT_THAT(refusal(system(repeated("<a/>", kMaxElements))), HasSubstr("more than 200000 elements"));
  EXPECT_THAT(refusal(system(repeated("<!---->", kMaxElements))),
              HasSubstr("more than 200000 elements and comments"));
  std::string tag = "<a";
  for (int i = 0; i < 60; ++i) tag += fmt::format(" a{}=\"\"", i);
  EXPECT_THAT(refusal(system(repeated(tag + "/>", 30'000))), HasSubstr("more than 1600000 attributes"));
  EXPECT_THAT(refusal(system(tag + " b=\"\" c=\"\" d=\"\" e=\"\" f=\"\"/>")),
              HasSubstr("more than 64 attributes in one element"));
}

TEST(RefusalLimits, HostileSizes) {
  const std::size_t size = 31u << 20;
  const std::string hostile[] = {
      std::string(size, '<'),
      "<" + std::string(size, 'a'),
      "<a " + std::string(size, 'b'),
      "<a b=\"" + std::string(size, '<') + "\"/>",
      std::string(size, '\n'),
      "<!--" + std::string(size, '-'),
      system("<a" + repeated(" a=\"\"", 1'000'000) + "/>"),
  };
  for (const std::string& text : hostile) EXPECT_NE(refusal(text), "accepted");
}

class RefusalFile : public ::testing::Test {
 protected:
  ~RefusalFile() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  static std::string refusalOf(const fs::path& path) {
    try {
      readTopology(path.string());
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  static fs::path temporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "xylem-document-XXXXXX").string();
    return mkdtemp(pattern.data());
  }
  const fs::path directory_ = temporaryDirectory();
};

TEST_F(RefusalFile, Missing) {
  EXPECT_EQ(refusalOf(directory_ / "none.xml"), (directory_ / "none.xml").string() +
                                                    ": found nothing to read (No such file or directory); "
                                                    "expected a topology XML file");
}

TEST_F(RefusalFile, Directory) {
  EXPECT_EQ(refusalOf(directory_), directory_.string() + ": found a directory; expected a topology XML file");
}

TEST_F(RefusalFile, EndlessOrHuge) {
  EXPECT_THAT(refusalOf("/dev/zero"), HasSubstr("found more than 32 MiB"));
  const fs::path huge = directory_ / "huge.xml";
  std::ofstream(huge) << system("");
  fs::resize_file(huge, 50'000'000);
  EXPECT_THAT(refusalOf(huge),
              HasSubstr("huge.xml: found more than 32 MiB; expected a file of at most that size"));
}

TEST_F(RefusalFile, AGoodFileIsRead) {
  const fs::path good = directory_ / "good.xml";
  std::ofstream(good) << system("<cpu numaid=\"0\"/>");
  EXPECT_EQ(readTopology(good.string()).size(), 2u);
}

TEST(Corpus, EveryTopologyIsReadOrRefused) {
  const Replayed replayed = replayCorpus("topology", feedTopology);
  EXPECT_GE(replayed.accepted, 10);
  EXPECT_GE(replayed.refused, 10);
}

}  // namespace
}  // namespace xylem::topology
