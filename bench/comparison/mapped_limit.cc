#include "comparison/mapped_limit.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <map>
#include <utility>

#include "comparison/meeting.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

constexpr std::uint64_t kLineElements = 16;

using Clock = std::chrono::steady_clock;

}  // namespace

Buffer::Buffer(std::uint64_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ResultCode::kSystemError, "there are no {} bytes of memory", bytes);
  data_ = static_cast<float*>(memory);
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedLimit::MappedLimit(CorePair& pair, int ranks, Stores stores)
    : Contender(stores == Stores::kStreaming ? "mapped-streaming" : "mapped", Role::kLimit),
      pair_(pair),
      ranks_(ranks),
      stores_(stores) {}

void MappedLimit::prepare(std::uint64_t bytes) {
  in_.clear();
  out_.clear();
  if (bytes == 0) return;
  for (int rank = 0; rank < ranks_; ++rank) {
    in_.emplace_back(bytes);
    out_.emplace_back(bytes);
    for (std::uint64_t i = 0; i < bytes / sizeof(float); ++i) in_.back().data()[i] = inputValue(rank, i);
    std::memset(out_.back().data(), 0, bytes);
  }
}

std::vector<MappedLimit::Job> MappedLimit::jobsOf(const Case& c, int side) const {
  // Data with one source goes to all of its outputs at once.
  std::map<std::pair<int, std::uint64_t>, Job> jobs;  // by source and its offset there
  for (int rank = 0; rank < ranks_; ++rank)
    for (const Piece& piece : piecesOf(c, rank)) {
      Job& job = jobs[{piece.source, piece.from}];
      const std::uint64_t first = piece.count / 2 / kLineElements * kLineElements;
      const std::uint64_t start = side == 0 ? 0 : first;
      job.count = side == 0 ? first : piece.count - first;
      job.out.push_back(out_[static_cast<std::size_t>(rank)].data() + piece.to + start);
      if (!job.in.empty()) continue;
      for (int source = 0; source < ranks_; ++source)
        if (piece.source == Piece::kAllRanks || piece.source == source)
          job.in.push_back(in_[static_cast<std::size_t>(source)].data() + piece.from + start);
    }
  std::vector<Job> list;
  for (auto& [from, job] : jobs)
    if (job.count > 0) list.push_back(std::move(job));
  return list;
}

double MappedLimit::measure(const Case& c, unsigned iterations, unsigned warmUps) {
  const std::vector<Job> jobs[2] = {jobsOf(c, 0), jobsOf(c, 1)};
  Meeting meeting;
  Clock::time_point begin, end;
  pair_.run([&](int side) {
    for (unsigned i = 0; i < warmUps + iterations; ++i) {
      meeting.meet(side);
      if (i == warmUps && side == 0) begin = Clock::now();
      for (const Job& job : jobs[side]) combine(job.in, job.out, job.count, stores_);
      if (stores_ == Stores::kStreaming) finishStreaming();
      meeting.meet(side);
    }
    if (side == 0) end = Clock::now();
  });
  return std::chrono::duration<double>(end - begin).count() / iterations;
}

std::optional<std::uint64_t> MappedLimit::check(const Case& c) {
  for (const Buffer& out : out_) makeStale(c, out.data());
  measure(c, 1, 0);
  std::uint64_t wrong = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    wrong += countWrong(c, rank, out_[static_cast<std::size_t>(rank)].data());
  return wrong;
}

}  // namespace xylem::bench
