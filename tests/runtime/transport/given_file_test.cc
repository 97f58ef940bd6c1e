// Files that a process gives to others by name.

#include "runtime/transport/session/given_file.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/transport/session/unix_socket.h"

namespace xylem::transport {
namespace {

using ::testing::HasSubstr;

Deadline inTime() { return Deadline::after(std::chrono::seconds(20)); }

FileDescriptor fileWith(const std::string& text) {
  FileDescriptor file(memfd_create("given", MFD_CLOEXEC));
  EXPECT_EQ(pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return file;
}
GivenFile::Open opening(const std::string& text) {
  return [text] { return fileWith(text); };
}
std::string textOf(const FileDescriptor& file) {
  char text[64];
  const ssize_t bytes = pread(file.get(), text, sizeof text, 0);
  return {text, bytes < 0 ? 0 : static_cast<std::size_t>(bytes)};
}

std::string whyNot(const FileName& name, const Deadline& deadline = inTime()) {
  try {
    takeFile(name, deadline);
    return "it was given";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(GivenFile, IsTheOneOfTheName) {
  const GivenFile first(opening("first")), second(opening("second"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(textOf(takeFile(second.name(), inTime())), "second");
    EXPECT_EQ(textOf(takeFile(first.name(), inTime())), "first");
  }
}

TEST(GivenFile, ReachesAnotherProcess) {
  const GivenFile given(opening("for a child"));
  const FileName name = given.name();
  const pid_t child = fork();
  if (child == 0) _exit(textOf(takeFile(name, inTime())) == "for a child" ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(GivenFile, IsGivenToManyAtOnce) {
  const GivenFile given(opening("same"));
  std::vector<std::thread> takers;
  for (int i = 0; i < 8; ++i)
    takers.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) EXPECT_EQ(textOf(takeFile(given.name(), inTime())), "same");
    });
  for (std::thread& taker : takers) taker.join();
}

TEST(GivenFile, SaysWhyThereIsNone) {
  FileName gone;
  {
    const GivenFile given(opening("there"));
    FileName other = given.name();
    other.number += 100;
    EXPECT_EQ(whyNot(other), "the other process gives no such file");
    gone = given.name();
  }
  EXPECT_THAT(whyNot(gone), HasSubstr("no process listens"));
  const GivenFile later(opening("later"));
  EXPECT_THAT(whyNot(gone), HasSubstr("no process listens")) << "the name is another one now";

  // A process that listens, and does not answer.
  const LocalListener silent;
  EXPECT_EQ(whyNot({silent.name(), 1}, Deadline::after(std::chrono::milliseconds(50))),
            "the other process does not answer");
}

std::size_t openDescriptors() {
  using Files = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Files("/proc/self/fd"), Files()));
}

// Programs are allowed few descriptors.
TEST(GivenFile, IsOpenOnlyWhileItIsSent) {
  const GivenFile first(opening("first"));  // with it the thread that answers
  const std::size_t before = openDescriptors();
  std::vector<std::unique_ptr<GivenFile>> others;
  for (int i = 0; i < 100; ++i)
    others.push_back(std::make_unique<GivenFile>(opening("file " + std::to_string(i))));
  EXPECT_EQ(openDescriptors(), before);
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_EQ(textOf(takeFile(others[i]->name(), inTime())), "file " + std::to_string(i));
  // The thread closes the last connection soon after its answer.
  const Deadline deadline = inTime();
  while (openDescriptors() > before && !deadline.passed()) std::this_thread::yield();
  EXPECT_EQ(openDescriptors(), before);
}

TEST(GivenFile, IsNotThereWhileItCannotBeOpened) {
  std::atomic<int> turn{0};
  const GivenFile given([&turn] {
    switch (turn++) {
      case 0:
        throw Error(ResultCode::kSystemError, "it cannot be opened");
      case 1:
        return FileDescriptor();
      default:
        return fileWith("opened");
    }
  });
  EXPECT_EQ(whyNot(given.name()), "the other process gives no such file");
  EXPECT_EQ(whyNot(given.name()), "the other process gives no such file");
  EXPECT_EQ(textOf(takeFile(given.name(), inTime())), "opened");
}

// The owner may give back what the function uses afterwards.
TEST(GivenFile, WaitsForTheFunctionBeforeItIsGone) {
  std::atomic<bool> begun{false}, over{false};
  auto given = std::make_unique<GivenFile>([&] {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    over = true;
    return fileWith("late");
  });
  std::thread taker([name = given->name()] { EXPECT_EQ(textOf(takeFile(name, inTime())), "late"); });
  const Deadline deadline = inTime();
  while (!begun && !deadline.passed()) std::this_thread::yield();
  given.reset();
  EXPECT_TRUE(over);
  taker.join();
}

// Processes that send something else, or nothing, do not keep it from answering others.
TEST(GivenFile, AnswersBesideProcessesThatAskForNothing) {
  const GivenFile given(opening("still there"));
  const FileDescriptor theirs = fileWith("not asked for");
  std::mt19937 random(7);
  std::vector<FileDescriptor> others;
  for (int i = 0; i < 40; ++i) {
    FileDescriptor socket = connectLocal(given.name().socket);
    ASSERT_TRUE(socket);
    std::vector<std::byte> message(random() % 40 + 1);
    for (std::byte& byte : message) byte = static_cast<std::byte>(random());
    if (i % 4 != 0)
      EXPECT_EQ(sendMessage(socket.get(), message.data(), message.size(), i % 8 == 1 ? theirs.get() : -1),
                SendOutcome::kSent);
    if (i % 3 != 0) others.push_back(std::move(socket));
  }
  EXPECT_EQ(textOf(takeFile(given.name(), inTime())), "still there");
}

}  // namespace
}  // namespace xylem::transport
