// The choice between ways in which data moves within a host, and the file that remembers it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/settings.h"
#include "runtime/transport/choices/choice_file.h"
#include "support/sanitizers.h"

namespace xylem::transport {
namespace {

using namespace ::testing;
namespace fs = std::filesystem;

constexpr const char* kBoot = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
constexpr const char* kEarlierBoot = "6fa459ea-ee8a-4ca4-894e-db77e160355e";

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "xylem-choices-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw Error(ResultCode::kSystemError, "no folder");
  }
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string files() const { return path_ + "/xylem/copy-choices.d"; }
  std::string file() const { return files() + "/" + kBoot; }
  std::string text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(file()) << text; }

 private:
  std::string path_;
};

MachineKey keyOf(const std::string& boot) { return {boot, "a processor, 1, 2", "cores that share a cache"}; }
KnownChoices knownOf(std::uint64_t staged) {
  KnownChoices known;
  known.choices.staged = staged;
  known.numbers = "8 KiB 1.5/2.5";
  known.steps = 3;
  return known;
}

TEST(CopyChoices, LargeDataMayAllBeRead) {
  CopyChoices choices = CopyChoices::fromText("read_from=100 read_up_to=2000");
  choices.readAllFrom(5000);
  EXPECT_TRUE(choices.reads(100) && choices.reads(3000) && choices.reads(std::uint64_t{1} << 39));
  EXPECT_FALSE(choices.reads(99) || choices.readsBlock(4999, false) || choices.readsBlock(4999, true));
  EXPECT_TRUE(choices.readsBlock(5000, false) && choices.readsBlock(5000, true));
  EXPECT_EQ(choices, CopyChoices::fromText(choices.text()));
}

TEST(CopyChoices, ManyRanksGoThroughAsMuchStagingMemoryAsTwo) {
  for (const auto& [ranks, cycle] : {std::pair(2, 4194304), std::pair(8, 1048576), std::pair(64, 786432)}) {
    CopyChoices choices = CopyChoices::fromText("cycle=4194304");
    choices.shareCycle(static_cast<std::size_t>(ranks));
    EXPECT_EQ(choices.cycle, static_cast<std::uint64_t>(cycle));
    EXPECT_EQ(choices, CopyChoices::fromText(choices.text()));
  }
}

TEST(CopyChoices, DataGoesRoundTheRingFromLessOnWhereGoingFarIsFaster) {
  CopyChoices choices;
  EXPECT_EQ(stagingFor(4096, false, choices.mostInAreas()), StagingKind::kSmall);
  EXPECT_EQ(stagingFor(4096, true, choices.mostInAreas()), StagingKind::kMany);
  EXPECT_EQ(stagingFor(4097, false, choices.mostInAreas()), StagingKind::kRing);
  choices.cycle = 2 * kLeastCycle;
  EXPECT_EQ(stagingFor(2048, false, choices.mostInAreas()), StagingKind::kSmall);
  for (const bool oneWay : {false, true})
    EXPECT_EQ(stagingFor(2049, oneWay, choices.mostInAreas()), StagingKind::kRing);
  EXPECT_EQ(stagingFor(kLittleStagingBytes, true, choices.mostInAreas()), StagingKind::kLittle);
  EXPECT_EQ(stagingFor(kLittleStagingBytes + 1, true, choices.mostInAreas()), StagingKind::kMany);
}

TEST(CopyChoices, DataThatGoesOneWayIsStagedUpToMoreWhereLinesAreSoonWritten) {
  EXPECT_EQ(CopyChoices::fromText("staged=1024").mostStagedOneWay(), 4096U);
  EXPECT_EQ(CopyChoices::fromText("staged=512,cycle=2097152").mostStagedOneWay(), 2048U);
  EXPECT_EQ(CopyChoices::fromText("staged=8192,cycle=2097152").mostStagedOneWay(), 8192U);
}

TEST(CopyChoices, TextHasAllFields) {
  CopyChoices choices = CopyChoices::fromText("read_from=100,read_up_to=2000 piece=8192,, staged=64");
  EXPECT_EQ(choices, CopyChoices::fromText(choices.text()));
  EXPECT_EQ(choices.piece, 8192U);
  EXPECT_EQ(choices.streamMessage, CopyChoices().streamMessage);
  EXPECT_TRUE(choices.reads(100) && choices.reads(1999));
  EXPECT_FALSE(choices.reads(99) || choices.reads(2000) || CopyChoices().reads(0));
  EXPECT_TRUE(CopyChoices::fromText("read_from=100").reads(std::uint64_t{1} << 39));
  EXPECT_TRUE(CopyChoices::fromText("read_up_to=100", choices).reads(0));
  EXPECT_THROW(CopyChoices::fromText("block_read_from=100,block_read_up_to=99"), Error);
  for (const char* wrong : {"size=1", "piece", "piece=", "piece=-1", "piece=4095", "piece=300000",
                            "cycle=786431", "staged=8k", "=1"})
    EXPECT_THROW(CopyChoices::fromText(wrong), Error) << wrong;
  try {
    CopyChoices::fromText("pieces=1");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'pieces'"), HasSubstr("read_from")));
  }
}

TEST(CopyChoices, HelpOfTheSettingNamesAllFields) {
  std::string names;
  for (const CopyChoiceField& field : copyChoiceFields())
    names += (names.empty() ? "" : ", ") + std::string(field.name);
  EXPECT_THAT(spec(Setting::kCopyChoices).help, EndsWith(" of " + names));
}

TEST(ChoiceFile, RemembersEachMachineAndForgetsTheOldest) {
  const Folder folder;
  const ChoiceFile file(folder.file());
  EXPECT_EQ(file.find(keyOf("a")), std::nullopt);
  EXPECT_EQ(file.remember(keyOf("a"), knownOf(64)), "");
  EXPECT_EQ(file.remember(keyOf("b"), knownOf(128)), "");
  EXPECT_EQ(file.remember(keyOf("a"), knownOf(256)), "");
  EXPECT_EQ(file.find(keyOf("a")), knownOf(256));
  EXPECT_EQ(file.find(keyOf("b")), knownOf(128));
  EXPECT_EQ(file.find(keyOf("started again")), std::nullopt);
  MachineKey other = keyOf("a");
  other.processor = "another processor";
  EXPECT_EQ(file.find(other), std::nullopt);
  for (std::size_t i = 0; i + 1 < kMaxChoiceLines; ++i)
    EXPECT_EQ(file.remember(keyOf("c" + std::to_string(i)), knownOf(64)), "");
  EXPECT_EQ(file.find(keyOf("b")), std::nullopt);
  EXPECT_EQ(file.find(keyOf("a")), knownOf(256));
}

TEST(ChoiceFile, KeepsWhatMoreStepsHaveFound) {
  const Folder folder;
  const ChoiceFile file(folder.file());
  KnownChoices more = knownOf(64);
  ++more.steps;
  for (const KnownChoices& known : {knownOf(128), more, knownOf(256)})
    EXPECT_EQ(file.remember(keyOf("a"), known), "");
  EXPECT_EQ(file.find(keyOf("a")), more);
}

TEST(ChoiceFile, DoesNotBelieveWhatIsDamagedOrOthersMayWrite) {
  const Folder folder;
  const ChoiceFile file(folder.file());
  ASSERT_EQ(file.remember(keyOf("a"), knownOf(64)), "");
  ASSERT_EQ(file.remember(keyOf("b"), knownOf(128)), "");
  const std::string whole = folder.text();
  // Every cut leaves whole lines or none.
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    folder.write(whole.substr(0, bytes));
    for (const char* boot : {"a", "b"})
      if (const auto found = file.find(keyOf(boot))) {
        EXPECT_EQ(found->choices.piece, CopyChoices().piece);
      }
  }
  folder.write("xylem-copy-choices-6\nnonsense\n" + whole.substr(whole.find('\n') + 1));
  EXPECT_EQ(file.find(keyOf("a")), knownOf(64));
  folder.write(whole);
  ASSERT_EQ(chmod(folder.file().c_str(), 0666), 0);
  EXPECT_EQ(file.find(keyOf("a")), std::nullopt);
  // The next file belongs to this user alone.
  EXPECT_EQ(file.remember(keyOf("c"), knownOf(64)), "");
  EXPECT_EQ(file.find(keyOf("c")), knownOf(64));
  EXPECT_EQ(file.find(keyOf("a")), std::nullopt);
  const std::string target = folder.file() + "-moved";
  fs::rename(folder.file(), target);
  fs::create_symlink(target, folder.file());
  EXPECT_EQ(file.find(keyOf("c")), std::nullopt);
}

TEST(ChoiceFile, IsThatOfTheBoot) {
  const Folder folder;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  EXPECT_EQ(choiceFilePath(kBoot), folder.file());
  EXPECT_EQ(choiceFilePath(""), "");
  EXPECT_EQ(choiceFilePath("../" + std::string(33, 'a')), "");
  // Debug builds, and those with sanitizers, have none.
  const ChoiceFile file = ChoiceFile::of(keyOf(kBoot));
  EXPECT_THAT(file.path(), AnyOf(folder.file(), ""));
#if defined(NDEBUG)
  EXPECT_EQ(file.path().empty(), testing::kSanitized);
#endif
  EXPECT_THAT(file.remember(keyOf(kBoot), knownOf(64)),
              file.path().empty() ? Matcher<std::string>(HasSubstr("this build")) : Matcher<std::string>(""));
  EXPECT_EQ(ChoiceFile::of(keyOf("")).path(), "");
  EXPECT_THAT(ChoiceFile::of(keyOf("")).remember(keyOf(""), knownOf(64)), HasSubstr("no file"));
  setenv("XDG_CACHE_HOME", saved.c_str(), 1);  // empty is the same as none
}

TEST(ChoiceFile, NewOnesRemoveThoseOfLongAgo) {
  const Folder folder;
  const fs::path files = folder.files();
  fs::create_directories(files);
  const auto make = [&](const std::string& name, int days) {
    std::ofstream(files / name) << "text";
    fs::last_write_time(files / name, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  };
  const std::string old = kEarlierBoot;
  make(old, 100);
  make(old + ".a1b2c3", 100);
  make("00000000" + old.substr(8), 10);
  make("notes", 100);
  EXPECT_EQ(ChoiceFile(folder.file()).remember(keyOf("a"), knownOf(64)), "");
  std::vector<std::string> left;
  for (const auto& file : fs::directory_iterator(files)) left.push_back(file.path().filename().string());
  EXPECT_THAT(left, UnorderedElementsAre(kBoot, "00000000" + old.substr(8), "notes"));
  // Only a new file takes the time to look.
  make(old, 100);
  EXPECT_EQ(ChoiceFile(folder.file()).remember(keyOf("b"), knownOf(64)), "");
  EXPECT_TRUE(fs::exists(files / old));
}

TEST(ChoiceFile, WritersAtTheSameTimeLoseNothing) {
  const Folder folder;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 6; ++writer)
    writers.emplace_back([&, writer] {
      EXPECT_EQ(ChoiceFile(folder.file()).remember(keyOf(std::to_string(writer)), knownOf(64)), "");
    });
  for (std::thread& writer : writers) writer.join();
  for (int writer = 0; writer < 6; ++writer)
    EXPECT_EQ(ChoiceFile(folder.file()).find(keyOf(std::to_string(writer))), knownOf(64));
}

TEST(ChoiceFile, ALockThatIsHeldForLongIsNotAwaited) {
  const Folder folder;
  fs::create_directories(folder.files());
  const FileDescriptor held(open(folder.files().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  EXPECT_EQ(ChoiceFile(folder.file()).remember(keyOf("a"), knownOf(64)), "");
  EXPECT_EQ(ChoiceFile(folder.file()).find(keyOf("a")), knownOf(64));
}

TEST(ChoiceFile, WritersAtTheSameTimeLeaveAWholeFile) {
  const Folder folder;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 6; ++writer)
    writers.emplace_back([&, writer] {
      const ChoiceFile file(folder.file());
      for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(file.remember(keyOf(std::to_string(writer)), knownOf(64)), "");
        if (const auto found = file.find(keyOf(std::to_string(i % 6)))) {
          EXPECT_EQ(*found, knownOf(64));
        }
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_GE(choicesFromText(folder.text()).size(), 1U);
  EXPECT_EQ(textOf(choicesFromText(folder.text())), folder.text());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.files()), fs::directory_iterator()), 1);
}

TEST(ChoiceFile, SaysWhyItCannotWrite) {
  EXPECT_EQ(ChoiceFile("", "no folder").remember(keyOf("a"), knownOf(64)), "no folder");
  EXPECT_THAT(ChoiceFile("/proc/no/file").remember(keyOf("a"), knownOf(64)), HasSubstr("/proc/no/file"));
  // A user whose home folder does not exist gets none.
  const Folder folder;
  const fs::path home = fs::path(folder.path()) / "home";
  EXPECT_THAT(ChoiceFile(home / ".cache/xylem/copy-choices.d/boot").remember(keyOf("a"), knownOf(64)),
              HasSubstr("No such file"));
  EXPECT_FALSE(fs::exists(home));
}

}  // namespace
}  // namespace xylem::transport
