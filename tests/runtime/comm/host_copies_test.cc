// Ranks of a host move data in one way, that of the first rank, whatever their own variables say.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/file_descriptor.h"
#include "core/temporary_directory.h"
#include "runtime/comm/join/choose_copies.h"
#include "runtime/comm/join/copy_changes.h"
#include "runtime/comm/rank_processes.h"
#include "runtime/comm/rank_threads.h"
#include "runtime/comm/watch/record_reader.h"
#include "support/sanitizers.h"
#include "support/secret_memory.h"

namespace xylem::testing {
namespace {

using namespace ::testing;

// Returns how data moves, as this process's communicators tell it.
std::vector<std::string> copiesHere() {
  std::vector<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(file.path(), gone).string().find(comm::kRecordBufferName) ==
        std::string::npos)
      continue;
    const FileDescriptor fd(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<std::byte> bytes(sizeof(comm::RecordBuffer));
    EXPECT_EQ(pread(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    for (const comm::RankRecord& rank : comm::readRecordBuffer(bytes).communicators)
      found.push_back(rank.copies);
  }
  return found;
}

// Messages of all sizes arrive, and sums are right, in memory that others cannot map.
bool dataIsRight(int rank, ncclComm_t comm) {
  for (const std::size_t count : {2UL, 700UL, 5000UL, 40000UL, 300000UL}) {
    std::vector<int> in(count, rank + 1), out(count, 0);
    if (ncclAllReduce(in.data(), out.data(), count, ncclInt32, ncclSum, comm, nullptr) != ncclSuccess)
      return false;
    if (cudaStreamSynchronize(nullptr) != cudaSuccess || out != std::vector<int>(count, 3)) return false;
    const bool grouped = ncclGroupStart() == ncclSuccess &&
                         ncclSend(in.data(), count, ncclInt32, 1 - rank, comm, nullptr) == ncclSuccess &&
                         ncclRecv(out.data(), count, ncclInt32, 1 - rank, comm, nullptr) == ncclSuccess &&
                         ncclGroupEnd() == ncclSuccess;
    if (!grouped || cudaStreamSynchronize(nullptr) != cudaSuccess) return false;
    if (out != std::vector<int>(count, 2 - rank)) return false;
  }
  return true;
}

// Two ranks that are processes and have this role. `seconds`: the most that each takes.
void runTwo(const char* role, int seconds) {
  const Variables variables{};
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  RankProcess first(role, 0, 2, id), second(role, 1, 2, id);
  EXPECT_EQ(first.waitAtMost(seconds), 0);
  EXPECT_EQ(second.waitAtMost(seconds), 0);
}

const RankRole kDiffer("copies differ", [](int rank, int ranks, const ncclUniqueId& id) {
  setenv(
      "XYLEM_COPY_CHOICES",
      rank == 0 ? "default,read_from=2000,read_up_to=100000,piece=8192,cycle=1000000,staged=64" : "default",
      1);
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  if (!dataIsRight(rank, comm)) return 2;
  const std::vector<std::string> copies = copiesHere();
  if (copies.size() != 1 ||
      !copies[0].starts_with(
          "read_from=2000 read_up_to=100000 block_read_from=0 block_read_up_to=0 reduce_read_from=0 "
          "reduce_read_up_to=0 piece=8192 whole=32768 cycle=1000000 staged=64 "))
    return 3;
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : 4;
});

TEST(HostCopies, AreThoseOfTheFirstRank) { runTwo("copies differ", 60); }

// Often enough for trials.
constexpr int kAdaptingRounds = kSanitized ? 30 : 150;

// In memory of malloc: collectives and messages of sizes that have two ways.
const RankRole kAdapt("copies adapt", [](int rank, int ranks, const ncclUniqueId& id) {
  setenv("XYLEM_COPY_CHOICES", "default,adapt=1", 1);
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  for (int i = 0; i < kAdaptingRounds; ++i)
    if (!dataIsRight(rank, comm)) return 2;
  const std::vector<std::string> copies = copiesHere();
  if (copies.size() != 1 || copies[0].find(" adapt=1") == std::string::npos) return 3;
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : 4;
});

TEST(HostCopies, OtherWaysAreTriedWhileRanksRun) { runTwo("copies adapt", 120); }

constexpr std::size_t kSecretBytes = 96000;

// Rank 0 has its data in memory that the kernel reads for no other process, and which would be read otherwise.
const RankRole kSecret("copies secret", [](int rank, int ranks, const ncclUniqueId& id) {
  setenv("XYLEM_COPY_CHOICES",
         "default,read_up_to=1000000,block_read_up_to=1000000,reduce_read_up_to=1000000,staged=64", 1);
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  constexpr std::size_t kCount = kSecretBytes / sizeof(int) / 3;
  std::vector<int> plain(3 * kCount);
  int* const data = rank == 0 ? reinterpret_cast<int*>(testing::secretMemory(kSecretBytes)) : plain.data();
  if (data == nullptr) return 2;
  for (int turn = 0; turn < 3; ++turn) {
    std::fill_n(data, kCount, rank + 1);
    if (ncclAllGather(data, data + kCount, kCount, ncclInt32, comm, nullptr) != ncclSuccess ||
        cudaStreamSynchronize(nullptr) != cudaSuccess || data[kCount] != 1 || data[3 * kCount - 1] != 2)
      return 3;
    if (ncclAllReduce(data, data + kCount, kCount, ncclInt32, ncclSum, comm, nullptr) != ncclSuccess ||
        cudaStreamSynchronize(nullptr) != cudaSuccess || data[2 * kCount - 1] != 3)
      return 4;
    const bool grouped = ncclGroupStart() == ncclSuccess &&
                         ncclSend(data, kCount, ncclInt32, 1 - rank, comm, nullptr) == ncclSuccess &&
                         ncclRecv(data + kCount, kCount, ncclInt32, 1 - rank, comm, nullptr) == ncclSuccess &&
                         ncclGroupEnd() == ncclSuccess;
    if (!grouped || cudaStreamSynchronize(nullptr) != cudaSuccess || data[2 * kCount - 1] != 2 - rank)
      return 5;
  }
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : 6;
});

TEST(HostCopies, OfMemoryThatCannotBeReadGoThroughSharedMemory) {
  if (testing::secretMemory(kSecretBytes) == nullptr) GTEST_SKIP() << "the kernel has no memfd_secret";
  runTwo("copies secret", 60);
}

TEST(HostCopies, ChangesWhileRanksRunAreShownBehindWhatWasChosen) {
  comm::FlightRecorder recorder({0xc0, 0, 2, 0});
  const Logger log{Settings()};
  const comm::HostCopies copies{{}, "measured: " + std::string(700, 'x')};
  comm::CopyChanges changes(copies, log, recorder);
  const std::string chosen = copies.choices.text();
  changes.showChoices();
  EXPECT_THAT(copiesHere(), Contains(StartsWith(chosen + " (measured: xxx")));
  const transport::TellChange tell = changes.teller();
  using std::chrono::microseconds;
  const auto change = [&](std::uint64_t bytes, bool read) {
    tell("AllGather", {.second = read, .bytes = bytes, .before = microseconds(33), .now = microseconds(8)});
  };
  change(65536, true);
  change(8192, true);
  change(65536, false);
  EXPECT_THAT(copiesHere(),
              Contains(StartsWith(
                  chosen + "; since then: AllGather of 65536 bytes staged in 8.0 us, read in 33.0 us; "
                           "AllGather of 8192 bytes read in 8.0 us, staged in 33.0 us (measured: xxx")));
  for (std::uint64_t i = 20; i < 28; ++i) tell("messages from rank 100", {.bytes = std::uint64_t{1} << i});
  EXPECT_THAT(copiesHere(), Contains(HasSubstr("; and 4 more (measured: xxx"))) << "all of it fits";
}

int helpersHere() {
  int helpers = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "comm");
    std::string name;
    helpers += std::getline(in, name) && name == "xylem helper" ? 1 : 0;
  }
  return helpers;
}

// Large sums and messages in both kinds of memory.
const RankRole kShare("copies shared", [](int rank, int ranks, const ncclUniqueId& id) {
  setenv("XYLEM_COPY_THREADS", "3", 1);
  setenv("XYLEM_COPY_CHOICES", "default,read_up_to=1000000000", 1);
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  constexpr std::size_t kCount = 1500000;
  std::vector<int> theirs(kCount, rank + 1), received(kCount);
  void* mapped = nullptr;
  if (ncclMemAlloc(&mapped, kCount * sizeof(int)) != ncclSuccess) return 2;
  std::fill_n(static_cast<int*>(mapped), kCount, rank + 1);
  for (int* const data : {static_cast<int*>(mapped), theirs.data()}) {
    const bool sent = ncclGroupStart() == ncclSuccess &&
                      ncclSend(data, kCount, ncclInt32, 1 - rank, comm, nullptr) == ncclSuccess &&
                      ncclRecv(received.data(), kCount, ncclInt32, 1 - rank, comm, nullptr) == ncclSuccess &&
                      ncclGroupEnd() == ncclSuccess;
    if (!sent || cudaStreamSynchronize(nullptr) != cudaSuccess ||
        std::count(received.begin(), received.end(), 2 - rank) != kCount)
      return 3;
    if (ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, comm, nullptr) != ncclSuccess ||
        cudaStreamSynchronize(nullptr) != cudaSuccess || std::count(data, data + kCount, 3) != kCount)
      return 4;
    std::fill(received.begin(), received.end(), 0);
  }
  if (helpersHere() != 2) return 5;
  if (ncclCommDestroy(comm) != ncclSuccess || ncclMemFree(mapped) != ncclSuccess) return 6;
  // The kernel lists a thread for a moment after it has ended.
  for (int tries = 0; helpersHere() > 0; ++tries) {
    if (tries == 1000) return 7;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
});

TEST(HostCopies, ThreadsOfARankShareThem) { runTwo("copies shared", 60); }

// Rank 0 writes how data moves into the file `said` of the folder of caches.
const RankRole kMeasure("copies measured", [](int rank, int ranks, const ncclUniqueId& id) {
  cudaSetDevice(rank);
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  const std::vector<std::string> copies = copiesHere();
  if (copies.size() != 1) return 2;
  if (rank == 0) std::ofstream(variable("XDG_CACHE_HOME") + "/said") << copies[0];
  if (!dataIsRight(rank, comm)) return 3;
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : 4;
});

// How data moves between two new processes.
std::string saidByTwo(const std::filesystem::path& cache) {
  std::filesystem::remove(cache / "said");
  runTwo("copies measured", 60);
  std::ifstream in(cache / "said");
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(HostCopies, AreMeasuredOnceAndRemembered) {
  const TemporaryDirectory folder;
  const std::filesystem::path cache = folder / "cache";
  std::filesystem::create_directory(cache);
  const Variables variables{{"XDG_CACHE_HOME", cache}, {"XYLEM_COPY_CHOICES", "measured"}};
  std::string said = saidByTwo(cache);
  // Measuring ends early if another program keeps a core, and goes on in the next job.
  const auto inPart = [&] { return said.find("measured in part") != std::string::npos; };
  for (int tries = 1; inPart() && tries < 10; ++tries) said = saidByTwo(cache);
  const std::string file = transport::ChoiceFile::of(comm::machineKey({})).path();
  if (!inPart() && !file.empty() && said.find("measured: ") != std::string::npos) {
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_THAT(saidByTwo(cache), HasSubstr("remembered in " + file));
    return;
  }
  if (!inPart()) {
    EXPECT_FALSE(std::filesystem::exists(cache / "xylem")) << said;
  }
  if (said.find("measured (no file") != std::string::npos && file.empty()) return;
  EXPECT_THAT(said, AnyOf(HasSubstr("measured in part"), HasSubstr("the ranks have one core together"),
                          HasSubstr("more ranks than cores"), HasSubstr("cannot run on core")));
  GTEST_SKIP() << said;
}

// By the log line of a job of two ranks as threads.
std::string copiesWith(const char* choices) {
  const TemporaryDirectory folder;
  const Variables variables{{"XYLEM_COPY_CHOICES", choices}, {"XDG_CACHE_HOME", folder / "cache"}};
  std::string said;
  expectAllJoined(runRanks(2, [&](int rank, ncclComm_t) {
    if (rank != 0) return;
    // The other rank of this process may still join, and know nothing.
    for (const std::string& copies : copiesHere())
      if (!copies.empty()) said = copies;
  }));
  return said;
}

TEST(HostCopies, NamedChoicesHoldAndOthersAreMeasured) {
  const std::string named = copiesWith("piece=8192,stream_message=5");
  EXPECT_THAT(named,
              AllOf(HasSubstr(" piece=8192 "), HasSubstr(" stream_message=5 "), HasSubstr(" adapt=0 "),
                    HasSubstr("(piece=8192,stream_message=5: XYLEM_COPY_CHOICES (environment); others: ")));
  EXPECT_THAT(named, AnyOf(HasSubstr("others: measured"), HasSubstr("others: remembered"),
                           HasSubstr("others: the default: ")));
  EXPECT_THAT(copiesWith("piece=8192,adapt=1"), AllOf(HasSubstr(" piece=8192 "), HasSubstr(" adapt=1 ")));
  EXPECT_THAT(copiesWith("default,piece=8192"),
              AllOf(HasSubstr(" piece=8192 "), HasSubstr("(XYLEM_COPY_CHOICES (environment))")));
}

TEST(HostCopies, InvalidVariablesAreNamed) {
  const Variables variables{{"XYLEM_COPY_CHOICES", "piece=1"}};
  const auto results = runRanks(2, [](int, ncclComm_t) {});
  for (const RankResult& result : results) {
    EXPECT_NE(result.init, ncclSuccess);
    EXPECT_THAT(result.text, HasSubstr("XYLEM_COPY_CHOICES (environment): 'piece=1'"));
  }
}

TEST(HostCopies, MessagesAreReadAgainOrRefused) {
  comm::HostCopies copies;
  copies.choices.piece = 8192;
  copies.reason = "measured: 8 KiB 1/2";
  EXPECT_EQ(comm::copiesFromText(comm::toText(copies)), copies);
  const std::string text = comm::toText(copies);
  for (const std::string& wrong : {std::string(), text.substr(0, 20), "piece=1" + text, text.substr(10)})
    EXPECT_THROW(comm::copiesFromText(wrong), Error) << wrong;
}

}  // namespace
}  // namespace xylem::testing
