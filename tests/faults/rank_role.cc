#include "faults/rank_role.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "faults/belongings.h"
#include "faults/fault_places.h"
#include "faults/fault_points.h"
#include "faults/work_memory.h"
#include "nccl.h"
#include "runtime/comm/rank_processes.h"

namespace xylem::testing {
namespace {

using Clock = std::chrono::steady_clock;

class FaultRank {
 public:
  void serve() {
    std::string line;
    for (char letter; read(kControlFd, &letter, 1) == 1;) {
      if (letter != '\n') {
        line += letter;
        continue;
      }
      std::istringstream words(line);
      line.clear();
      obey(words);
    }
  }

 private:
  // The commands:
  //   set NAME VALUE, unset NAME                a variable of the environment
  //   strike POINT SIGNAL                       at a point of fault_points.h
  //   strikeafter MICROSECONDS SIGNAL           after the start of the next work
  //   strikein PLACE TIME SIGNAL                at a place of fault_places.h
  //   join RANK RANKS ID, split, shrink RANK    shrink: without RANK, also while operations are under way
  //   work COLLECTIVE COUNT [shareable]         until it fails
  //   sum, abort, destroy
  //   remember, compare WORKERS                 belongings; WORKERS: worker threads that may have come since
  void obey(std::istringstream& words) {
    std::string word;
    words >> word;
    if (word == "set" || word == "unset") return setVariable(word == "set", words);
    if (word == "strike" || word == "strikeafter") return arm(word == "strike", words);
    if (word == "strikein") return armPlace(words);
    if (word == "join") return join(words);
    if (word == "split") return split();
    if (word == "shrink") return shrink(words);
    if (word == "work") return work(words);
    if (word == "sum") return sum();
    if (word == "abort") return end(ncclCommAbort, "aborted");
    if (word == "destroy") return end(ncclCommDestroy, "destroyed");
    if (word == "remember") return before_ = Belongings::now(), answer("remembered", 0, "");
    if (word == "compare") return compare(words);
    answer("what?", 0, word);
  }

  static void answer(const std::string& word, int code, const std::string& text) {
    const auto now = Clock::now().time_since_epoch();
    const std::string line = fmt::format(
        "{} {} {} {}\n", word, code, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), text);
    if (write(kControlFd, line.data(), line.size()) < 0) _exit(1);
  }

  void setVariable(bool set, std::istringstream& words) {
    std::string name, value;
    words >> name >> value;
    if (set)
      setenv(name.c_str(), value.c_str(), 1);
    else
      unsetenv(name.c_str());
    answer("set", 0, "");
  }

  void arm(bool point, std::istringstream& words) {
    int when = 0, signal = 0;
    words >> when >> signal;
    if (point)
      strikeAt(when, signal);
    else
      strikeAfter_ = {when, signal};
    answer("armed", 0, "");
  }

  static void armPlace(std::istringstream& words) {
    std::string place;
    int time = 0, signal = 0;
    words >> place >> time >> signal;
    answer(strikeIn(place, time, signal) ? "armed" : "what?", 0, place);
  }

  void join(std::istringstream& words) {
    std::string hex;
    words >> rank_ >> ranks_ >> hex;
    cudaSetDevice(rank_);
    ncclUniqueId id{};
    ncclComm_t comm = nullptr;
    ncclResult_t result = ncclSuccess;
    if (hex.empty())
      result = ncclGetUniqueId(&id);  // NCCL_COMM_ID
    else
      id = idOf(hex);
    if (result == ncclSuccess) result = ncclCommInitRank(&comm, ranks_, id, rank_);
    made(comm, result);
  }

  void split() {
    ncclComm_t part = nullptr;
    const ncclResult_t result = ncclCommSplit(comms_.back(), 0, rank_, &part, nullptr);
    made(part, result);
  }

  void shrink(std::istringstream& words) {
    int without = 0;
    words >> without;
    ncclComm_t rest = nullptr;
    const ncclResult_t result = ncclCommShrink(comms_.back(), &without, 1, &rest, nullptr, NCCL_SHRINK_ABORT);
    if (result == ncclSuccess) {
      ncclCommUserRank(rest, &rank_);
      ncclCommCount(rest, &ranks_);
    }
    made(rest, result);
  }

  void made(ncclComm_t comm, ncclResult_t result) {
    if (result != ncclSuccess) return answer("failed", result, ncclGetLastError(nullptr));
    comms_.push_back(comm);
    answer("joined", faultPointsPassed(), "");
  }

  // Repeats one collective until it fails. From then on only this rank may write into its buffers: it checks
  // that when the communicator ends.
  void work(std::istringstream& words) {
    std::string collective, kind;
    std::size_t count = 0;
    words >> collective >> count >> kind;
    const ncclComm_t comm = comms_.back();
    const bool hasBlocks = collective != "AllReduce" && collective != "Broadcast" && collective != "Reduce";
    const std::size_t blocks = hasBlocks ? static_cast<std::size_t>(ranks_) : 1;
    WorkMemory& memory =
        worked_.emplace(kind == "shareable" ? WorkMemory::Kind::kShareable : WorkMemory::Kind::kMalloc,
                        count * blocks * sizeof(float));
    std::thread striker;
    if (strikeAfter_) {
      const auto [microseconds, signal] = *strikeAfter_;
      striker = std::thread([microseconds = microseconds, signal = signal] {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        kill(getpid(), signal);
      });
    }
    ncclResult_t result = ncclSuccess;
    while (result == ncclSuccess) {
      result = enqueue(collective, memory.send(), memory.receive(), count, comm);
      if (cudaStreamSynchronize(nullptr) != cudaSuccess) break;
    }
    memory.mark();
    ncclCommGetAsyncError(comm, &result);
    answer("failed", result, ncclGetLastError(comm));
    if (striker.joinable()) striker.join();
  }

  ncclResult_t enqueue(const std::string& collective, float* send, float* receive, std::size_t count,
                       ncclComm_t comm) const {
    if (collective == "AllReduce")
      return ncclAllReduce(send, receive, count, ncclFloat, ncclMax, comm, nullptr);
    if (collective == "AllGather") return ncclAllGather(send, receive, count, ncclFloat, comm, nullptr);
    if (collective == "ReduceScatter")
      return ncclReduceScatter(send, receive, count, ncclFloat, ncclMax, comm, nullptr);
    if (collective == "Broadcast") return ncclBroadcast(send, receive, count, ncclFloat, 0, comm, nullptr);
    if (collective == "Reduce") return ncclReduce(send, receive, count, ncclFloat, ncclMax, 0, comm, nullptr);
    ncclGroupStart();
    for (int peer = 0; peer < ranks_; ++peer) {
      const std::size_t at = count * static_cast<std::size_t>(peer);
      ncclSend(send + at, count, ncclFloat, peer, comm, nullptr);
      ncclRecv(receive + at, count, ncclFloat, peer, comm, nullptr);
    }
    return ncclGroupEnd();
  }

  // One AllReduce with a known result.
  void sum() {
    std::vector<std::int32_t> values(100'000, rank_ + 1);
    const ncclResult_t result = ncclAllReduce(values.data(), values.data(), values.size(), ncclInt32, ncclSum,
                                              comms_.back(), nullptr);
    if (result != ncclSuccess || cudaStreamSynchronize(nullptr) != cudaSuccess)
      return answer("failed", result, ncclGetLastError(comms_.back()));
    const bool right = std::all_of(values.begin(), values.end(),
                                   [&](std::int32_t v) { return v == ranks_ * (ranks_ + 1) / 2; });
    answer(right ? "summed" : "wrong", 0, "");
  }

  void compare(std::istringstream& words) {
    int workers = 0;
    words >> workers;
    Belongings before = before_.value();
    before.threads += workers;
    answer("compared", 0, Belongings::settled(before).beyond(before));
  }

  // All communicators, the newest first.
  void end(ncclResult_t (*how)(ncclComm_t), const char* word) {
    ncclResult_t worst = ncclSuccess;
    for (; !comms_.empty(); comms_.pop_back()) worst = std::max(worst, how(comms_.back()));
    const bool touched = worked_ && !worked_->marksAreThere();
    worked_.reset();
    answer(word, worst, touched ? "its buffers were written after its operation had failed" : "");
  }

  int rank_ = 0;
  int ranks_ = 1;
  std::vector<ncclComm_t> comms_;
  std::optional<std::pair<int, int>> strikeAfter_;
  std::optional<WorkMemory> worked_;
  std::optional<Belongings> before_;
};

TEST(FaultRank, Role) {
  if (variable("XYLEM_TEST_FAULT_RANK").empty()) return;
  FaultRank().serve();
}

}  // namespace
}  // namespace xylem::testing
