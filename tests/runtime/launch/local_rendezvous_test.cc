// Processes of one host share an id without a store of the launcher.

#include "runtime/launch/local_rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "runtime/launch/job_id.h"
#include "runtime/sockets/secret.h"
#include "support/patience.h"
#include "xylem/launch.h"

namespace xylem::launch {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience(60);

// A name that no other process uses.
std::string jobName(const char* test) { return std::string(test) + " " + std::to_string(getpid()); }

TEST(LocalRendezvous, AllHearTheFirst) {
  constexpr int kProcesses = 6;
  std::vector<std::string> heard(kProcesses);
  std::vector<std::thread> processes;
  for (int rank = kProcesses - 1; rank >= 0; --rank)  // the first comes last
    processes.emplace_back([&, rank] {
      heard[static_cast<std::size_t>(rank)] = shareLocally(
          {jobName("all"), rank, kProcesses}, rank == 0 ? "the id" : "", Deadline::after(kPatience));
    });
  for (std::thread& process : processes) process.join();
  EXPECT_THAT(heard, Each("the id"));
}

TEST(LocalRendezvous, JobsDoNotMix) {
  std::array<std::string, 2> heard;
  std::vector<std::thread> processes;
  for (int job = 0; job < 2; ++job)
    for (int rank = 0; rank < 2; ++rank)
      processes.emplace_back([&, job, rank] {
        const LocalRendezvous meeting{jobName(job == 0 ? "one" : "other"), rank, 2};
        const std::string text = shareLocally(meeting, std::to_string(job), Deadline::after(kPatience));
        if (rank == 1) heard[static_cast<std::size_t>(job)] = text;
      });
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(heard[0], "0");
  EXPECT_EQ(heard[1], "1");
}

std::string complaint(int rank) {
  try {
    shareLocally({jobName("missing"), rank, 2}, "the id", Deadline::after(std::chrono::milliseconds(100)));
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(LocalRendezvous, WhoIsMissingIsNamed) {
  EXPECT_THAT(complaint(0), AllOf(HasSubstr("timed out waiting for 1 of 2 processes"), HasSubstr("missing")));
  EXPECT_THAT(complaint(1), HasSubstr("does not hear from process 0"));
}

// A process of the same user, such as one that tries whether the socket is there.
TEST(LocalRendezvous, OneThatSaysNothingDelaysTheOthersBySecondsOnly) {
  const std::string job = jobName("silent");
  std::thread first([&] {
    EXPECT_EQ(shareLocally({job, 0, 2}, "the id", Deadline::after(std::chrono::seconds(30))), "the id");
  });
  const FileDescriptor silent(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::array<std::uint8_t, 16> digest;
  sockets::hash(digest.data(), digest.size(), job.data(), job.size());
  std::string name = fmt::format("xylem-launch-{}-", getuid());
  for (const std::uint8_t byte : digest) name += fmt::format("{:02x}", byte);
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  ASSERT_TRUE(xylem::testing::soon([&] {
    return connect(silent.get(), reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) == 0;
  })) << errnoText(errno);
  EXPECT_EQ(shareLocally({job, 1, 2}, "", Deadline::after(std::chrono::seconds(30))), "the id");
  first.join();
}

// A process with the variables of torchrun; writes its id into the pipe.
pid_t startProcess(int rank, int size, int pipe) {
  const std::string port = std::to_string(getpid());
  const pid_t child = fork();
  if (child != 0) return child;
  const std::string own = std::to_string(rank), all = std::to_string(size);
  const std::pair<const char*, std::string> variables[] = {
      {"RANK", own},         {"LOCAL_RANK", own},     {"WORLD_SIZE", all},         {"LOCAL_WORLD_SIZE", all},
      {"MASTER_PORT", port}, {"MASTER_ADDR", "here"}, {"NCCL_SOCKET_IFNAME", "lo"}};
  for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
  try {
    const Launch launch = Launch::find();
    const ncclUniqueId id = launch.uniqueId();
    const bool told = launch.rank() == rank && launch.size() == size && launch.localRank() == rank &&
                      write(pipe, &id, sizeof id) == sizeof id;
    _exit(told ? 0 : 1);
  } catch (const LaunchError&) {
    _exit(2);
  }
}

TEST(Launch, AllProcessesGetOneId) {
  constexpr int kProcesses = 3;
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor read(ends[0]);
  FileDescriptor write(ends[1]);
  std::vector<pid_t> children;
  for (int rank = 0; rank < kProcesses; ++rank)
    children.push_back(startProcess(rank, kProcesses, write.get()));
  write.reset();
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::array<std::array<char, sizeof(ncclUniqueId)>, kProcesses> ids{};
  EXPECT_EQ(::read(read.get(), ids.data(), sizeof ids), static_cast<ssize_t>(sizeof ids));
  EXPECT_THAT(ids, Each(ids[0]));
}

TEST(Launch, WithoutALauncherOneProcessIsAlone) {
  const Launch launch = Launch::find();
  EXPECT_EQ(launch.rank(), 0);
  EXPECT_EQ(launch.size(), 1);
  EXPECT_EQ(launch.variable(), "");
  EXPECT_NO_THROW(launch.uniqueId());
}

TEST(Launch, SaysWhatIsMissing) {
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "2", 1);
  try {
    Launch::find().uniqueId();
    FAIL() << "nobody said where to meet";
  } catch (const LaunchError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("NCCL_COMM_ID"), HasSubstr("process 1 of 2")));
  }
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace xylem::launch
