#include "comparison/mailbox_limit.h"

#include <atomic>
#include <chrono>
#include <cstring>

#include "comparison/combine.h"
#include "comparison/meeting.h"

namespace xylem::bench {
namespace {

constexpr std::uint64_t kMaxBytes = 64 << 10;
constexpr unsigned kLetters = 8;           // messages under way, as in our queues
constexpr unsigned kTellEvery = 4;         // what was taken
constexpr std::size_t kNearElements = 14;  // beside the number, in its cache line

using Clock = std::chrono::steady_clock;

}  // namespace

struct MailboxLimit::Letter {
  alignas(64) std::atomic<unsigned> number{0};
  float near[kNearElements];
  alignas(64) float far[kMaxBytes / sizeof(float)];
};

struct MailboxLimit::Mailbox {
  Letter letters[kLetters];
  alignas(128) std::atomic<unsigned> taken{0};  // written by the receiver, who owns the line
  alignas(128) unsigned known = 0;              // of `taken`, to the sender
};

MailboxLimit::MailboxLimit(CorePair& pair)
    : Contender("mailbox", Role::kLimit), pair_(pair), boxes_(std::make_unique<Mailbox[]>(2)) {}
MailboxLimit::~MailboxLimit() = default;

bool MailboxLimit::supports(const Case& c) const { return c.ranks == 2 && c.bytes <= kMaxBytes; }

void MailboxLimit::prepare(std::uint64_t bytes) {
  in_.clear();
  out_.clear();
  if (bytes == 0 || bytes > kMaxBytes) return;
  for (int rank = 0; rank < 2; ++rank) {
    in_.emplace_back(bytes);
    out_.emplace_back(bytes);
    for (std::uint64_t i = 0; i < bytes / sizeof(float); ++i) in_.back().data()[i] = inputValue(rank, i);
  }
}

// Writes the n-th message from this side, and reads the one to it.
void MailboxLimit::once(const Exchange& exchange, const std::vector<Piece>& pieces, int side, unsigned n) {
  const float* in = in_[static_cast<std::size_t>(side)].data();
  float* out = out_[static_cast<std::size_t>(side)].data();
  const auto contents = [](Letter& letter, std::uint64_t count) {
    return count <= kNearElements ? letter.near : letter.far;
  };
  if (const Run& run = exchange.from[static_cast<std::size_t>(side)]; run.count > 0) {
    Mailbox& box = boxes_[static_cast<std::size_t>(side)];
    Letter& letter = box.letters[n % kLetters];
    while (static_cast<int>(n - kLetters - box.known) > 0)
      box.known = box.taken.load(std::memory_order_acquire);
    std::memcpy(contents(letter, run.count), in + run.start, run.count * sizeof(float));
    letter.number.store(n, std::memory_order_release);
  }
  const float* received = nullptr;
  if (const Run& run = exchange.from[static_cast<std::size_t>(1 - side)]; run.count > 0) {
    Letter& letter = boxes_[static_cast<std::size_t>(1 - side)].letters[n % kLetters];
    while (letter.number.load(std::memory_order_acquire) != n) {
    }
    received = contents(letter, run.count);
  }
  for (const Piece& piece : pieces) {
    float* to = out + piece.to;
    const float* both[] = {in + piece.from, received};
    if (piece.source == Piece::kAllRanks)
      combine(both, {&to, 1}, piece.count, Stores::kPlain);
    else
      std::memcpy(to, piece.source == side ? both[0] : received, piece.count * sizeof(float));
  }
  if (received != nullptr && n % kTellEvery == 0)
    boxes_[static_cast<std::size_t>(1 - side)].taken.store(n, std::memory_order_release);
}

double MailboxLimit::measure(const Case& c, unsigned iterations, unsigned warmUps) {
  const Exchange exchange = exchangeOf(c);
  const std::vector<Piece> pieces[2] = {piecesOf(c, 0), piecesOf(c, 1)};
  Meeting meeting;
  Clock::time_point begin, ends[2];
  const unsigned first = sent_ + 1;
  sent_ += warmUps + iterations;
  // Earlier operations did not use all message numbers, and did not acknowledge all messages.
  for (unsigned sender = 0; sender < 2; ++sender) {
    boxes_[sender].taken.store(first - 1);
    boxes_[sender].known = first - 1;
  }
  pair_.run([&](int side) {
    for (unsigned i = 0; i < warmUps; ++i) once(exchange, pieces[side], side, first + i);
    meeting.meet(side);
    if (side == 0) begin = Clock::now();
    for (unsigned i = 0; i < iterations; ++i) once(exchange, pieces[side], side, first + warmUps + i);
    ends[side] = Clock::now();
  });
  return std::chrono::duration<double>(std::max(ends[0], ends[1]) - begin).count() / iterations;
}

std::optional<std::uint64_t> MailboxLimit::check(const Case& c) {
  for (const Buffer& out : out_) makeStale(c, out.data());
  measure(c, 1, 0);
  return countWrong(c, 0, out_[0].data()) + countWrong(c, 1, out_[1].data());
}

}  // namespace xylem::bench
