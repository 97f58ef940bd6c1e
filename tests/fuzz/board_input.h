#pragma once
// One input of the fuzzer of boards: a rank exchanges directly with two others of its host, which post what
// fits, nearly fits or does not, and write anything else onto their boards. Nothing is read or written
// outside of this rank's buffers and of the memory that the others have handed over.
//
//   feedBoards(bytes);   // true if nothing was refused

#include <array>
#include <memory>
#include <vector>

#include "runtime/collectives/direct_exchange.h"
#include "core/shareable_memory.h"
#include "fuzz/local_link_input.h"
#include "runtime/transport/local/local_peer_memory.h"

namespace xylem {

constexpr int kBoardRanks = 3, kBoardSelf = 1;
// Of a buffer of one rank: what fits into a line, onto a board, and what does neither.
constexpr std::size_t kBoardSizes[] = {0, 8, 32, 40, 1000, 1100, 5000, 33000, 90000};
constexpr std::size_t kMostBoardBytes = kBoardRanks * 90000;

// A peer in another process, whose memory is mapped here, and copied by nobody but this.
class FuzzedPeer final : public PeerMemory {
 public:
  explicit FuzzedPeer(int rank)
      : memory_(SharedMemory::create("xylem fuzz", kMostBoardBytes)),
        link_(rank, std::move(pair_.ours)),
        local_(link_, {.sameProcess = false, .crossMemoryBytes = 0, .process = -1}) {
    LocalMessage message;
    message.kind = LocalMessage::kRegion;
    message.bytes = kMostBoardBytes;
    require(sendMessage(pair_.peer.get(), &message, sizeof message, memory_.fd()));
  }

  bool admits = true;
  bool locate(const std::byte*, std::size_t, StepNote&) override { return false; }
  const std::byte* reach(const StepNote& note) override { return local_.reach(note); }
  std::byte* at(const BufferPlace& place, std::size_t bytes) override {
    std::byte* const data = local_.at(place, bytes);
    require(data == nullptr || place.address + bytes <= kMostBoardBytes);
    return data;
  }
  bool admit(std::uint32_t) override { return admits; }
  void read(const StepNote& note, std::byte* out) override { std::memset(out, 3, note.bytes); }

 private:
  const SharedMemory memory_;
  LocalPair pair_;
  LocalLink link_;
  LocalPeerMemory local_;
};

// Instead of the kernels, which tests of their own try: these touch the same bytes.
inline Reduction plainReduction(std::size_t elementBytes, bool scales) {
  static thread_local std::size_t element;
  element = elementBytes;
  Reduction plain;
  plain.elementBytes = elementBytes;
  plain.scales = scales;
  plain.enter = [](void* out, const void* own, std::size_t n, Factor) {
    std::memmove(out, own, n * element);
  };
  plain.combine = plain.merge = [](void* out, const void* incoming, const void* own, std::size_t n, Factor) {
    touch(static_cast<const std::byte*>(incoming), n * element);
    std::memmove(out, own, n * element);
  };
  plain.finish = plain.finishMerge = plain.finishStreaming = plain.finishMergeStreaming =
      [](void* out, void* copy, const void* incoming, const void* own, std::size_t n, Factor) {
        touch(static_cast<const std::byte*>(incoming), n * element);
        std::memmove(out, own, n * element);
        if (copy != nullptr) std::memmove(copy, out, n * element);
      };
  return plain;
}

class FuzzedExchange {
 public:
  FuzzedExchange()
      : boards_(boards()), exchange_(kBoardSelf, (*boards_)[kBoardSelf], peersOf(*boards_), false, false) {
    for (Board& board : *boards_) {
      std::memset(static_cast<void*>(&board.postings), 0, sizeof board.postings);
      board.left = 0;
    }
  }

  // Does one thing that the input says.
  void act(Input& input) {
    const auto what = input.take<std::uint8_t>();
    Board& theirs = (*boards_)[(what & 8) != 0 ? 2 : 0];
    switch (what % 8) {
      case 0:
        if (!busy_) start(input);
        break;
      case 1:
      case 2:
        post(theirs, input);
        break;
      case 3:
        theirs.left = posted() + input.take<std::uint8_t>() % 3 - 1;
        break;
      case 4: {
        const std::size_t at = input.take<std::uint16_t>() % sizeof theirs.postings;
        const auto piece =
            input.piece(std::min<std::size_t>(input.take<std::uint8_t>(), sizeof theirs.postings - at));
        if (!piece.empty())
          std::memcpy(reinterpret_cast<std::byte*>(&theirs.postings) + at, piece.data(), piece.size());
        break;
      }
      case 5:
        theirs.left = input.take<std::uint64_t>();
        break;
      case 6:
        peer((what & 8) != 0).admits = (what & 16) != 0;
        break;
      default:
        break;
    }
    step();
  }

 private:
  using Boards = std::array<Board, kBoardRanks>;
  static const std::shared_ptr<Boards>& boards() {
    static const auto all = std::make_shared<Boards>();
    return all;
  }
  static FuzzedPeer& peer(bool last) {
    static FuzzedPeer first(0), second(2);
    return last ? second : first;
  }
  static std::vector<DirectPeer> peersOf(const Boards& all) {
    for (FuzzedPeer* memory : {&peer(false), &peer(true)}) memory->admits = true;
    return {{&all[0], &peer(false)}, {}, {&all[2], &peer(true)}};
  }
  // Buffers that others can map, and others, at whose end memory ends.
  static std::byte* shareable(std::size_t which) {
    static std::byte* const both = static_cast<std::byte*>(ShareableMemory::allocate(2 * kMostBoardBytes));
    return both + which * kMostBoardBytes;
  }

  // The number of the operation under way, or the last one, as far as this rank has posted.
  std::uint64_t posted() const {
    std::uint64_t newest = started_;
    for (const Posting& posting : (*boards_)[kBoardSelf].postings)
      newest = std::max(newest, posting.number.load());
    return newest;
  }

  void start(Input& input) {
    const DirectWork before = work_;
    const auto kind = input.take<std::uint8_t>();
    work_.kind =
        kind >= 250 ? DirectKind::kAlltoAll : directKindOf(kAllCollectives[kind % kAllCollectives.size()]);
    work_.type = static_cast<DataType>(kind / 8 % kDataTypes);
    const auto how = input.take<std::uint8_t>();
    work_.op = how % kReduceOps;
    work_.scaled = (how & 8) != 0;
    work_.root = (how >> 4) % kBoardRanks;
    const std::size_t element = elementBytes(work_.type);
    work_.count = kBoardSizes[input.take<std::uint8_t>() % std::size(kBoardSizes)] / element;
    work_.reduction = plainReduction(element, work_.scaled);
    input_.reset(new std::byte[inputBytes(work_, kBoardRanks)]{});
    output_.reset(new std::byte[outputBytes(work_, kBoardRanks)]{});
    const bool shares = (how & 128) != 0;
    work_.input = shares ? shareable(0) : input_.get();
    work_.output = shares ? shareable(1) : output_.get();
    // Where nothing else has changed, as callers do.
    const bool again = started_ > 0 && !work_.scaled && !before.scaled && work_.kind == before.kind &&
                       work_.type == before.type && work_.op == before.op && work_.root == before.root &&
                       work_.count == before.count;
    if (again)
      exchange_.startAgain(work_.input, work_.output);
    else
      exchange_.start(work_);
    ++started_;
    busy_ = true;
  }

  // As the peer would, but for what the input says otherwise.
  void post(Board& board, Input& input) {
    const auto how = input.take<std::uint8_t>();
    const std::uint64_t number = posted() + ((how & 3) == 3 ? 1 : 0);
    Posting& posting = board.slot(number);
    posting.count = work_.count;
    posting.collective = static_cast<std::uint8_t>(work_.kind);
    posting.type = static_cast<std::uint8_t>(work_.type);
    posting.op = work_.op;
    posting.root = work_.root;
    posting.flags =
        static_cast<std::uint8_t>((work_.scaled ? Posting::kScaled : 0) | (how >> 4 & ~Posting::kScaled));
    for (BufferPlace* place : {&posting.buffers.input, &posting.buffers.output}) {
      place->region = input.take<std::uint8_t>();
      place->address = input.take<std::uint32_t>();
      if ((how & 4) != 0) *place = {BufferPlace::kFirstRegion, place->address % kMostBoardBytes};
    }
    posting.number = number;
  }

  void step() {
    for (int i = 0; busy_ && i < 16; ++i) {
      const DirectExchange::Outcome outcome = exchange_.step();
      busy_ =
          outcome == DirectExchange::Outcome::kAdvanced || outcome == DirectExchange::Outcome::kWouldBlock;
      if (outcome == DirectExchange::Outcome::kWouldBlock) {
        require(exchange_.waitsFor() == 0 || exchange_.waitsFor() == 2);
        return;
      }
    }
  }

  const std::shared_ptr<Boards> boards_;
  DirectExchange exchange_;
  DirectWork work_;
  std::unique_ptr<std::byte[]> input_, output_;
  std::uint64_t started_ = 0;
  bool busy_ = false;
};

inline bool feedBoards(std::string_view bytes) {
  Input input(bytes);
  FuzzedExchange exchange;
  try {
    for (int i = 0; i < 64 && !input.empty(); ++i) exchange.act(input);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
