#pragma once
// One input of the fuzzer of mailboxes: a rank exchanges directly with two others of its host, which post
// descriptors that fit, nearly fit or do not fit, and write anything else into their mailboxes. The rank must
// not read or write outside its own buffers and the memory that the others have handed over. If the first byte
// says so, ranks adapt: they read and stage in turn, by a clock that the input sets, so that an input always does
// the same.
//
//   feedMailboxes(bytes);   // true if nothing was refused

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "core/shareable_memory.h"
#include "fuzz/session_input.h"
#include "runtime/collectives/direct_exchange.h"
#include "runtime/transport/local/local_peer_memory.h"

namespace xylem {

constexpr int kFuzzedRanks = 3, kFuzzedSelf = 1;
// Bytes of a buffer of one rank: some fit into a descriptor, some into a staging area, some into neither.
constexpr std::size_t kFuzzedSizes[] = {0, 8, 32, 40, 1000, 400, 5000, 33000, 90000};
constexpr std::size_t kMaxBufferBytes = kFuzzedRanks * 90000;

// A peer in another process, whose memory is mapped here.
class FuzzedPeer final : public transport::PeerMemory {
 public:
  explicit FuzzedPeer(int rank)
      : memory_(transport::SharedMemory::create("xylem fuzz", kMaxBufferBytes)),
        fuzzed_(rank),
        local_(*fuzzed_.session(), {.sameProcess = false, .peerReads = false, .process = -1}) {
    fuzzed_.giveRegion(kMaxBufferBytes, memory_.fd());
  }

  bool admits = true;
  bool peerReads() const override { return true; }
  bool locate(const std::byte*, std::size_t, bool, transport::StepNote&) override { return false; }
  const std::byte* reach(const transport::StepNote& note) override { return local_.reach(note); }
  std::byte* at(const transport::BufferPlace& place, std::size_t bytes) override {
    std::byte* const data = local_.at(place, bytes);
    require(data == nullptr || place.address + bytes <= kMaxBufferBytes);
    return data;
  }
  bool admit(std::uint32_t) override { return admits; }
  void read(const transport::StepNote& note, std::byte* out) override { std::memset(out, 3, note.bytes); }

 private:
  const transport::SharedMemory memory_;
  FuzzedSession fuzzed_;
  transport::LocalPeerMemory local_;
};

// Stands in for the reduction kernels, which have tests of their own: touches the same bytes.
inline collectives::Reduction plainReduction(std::size_t elementBytes, bool scales) {
  static thread_local std::size_t element;
  element = elementBytes;
  collectives::Reduction plain;
  plain.elementBytes = elementBytes;
  plain.scales = scales;
  plain.enter = [](void* out, const void* own, std::size_t n, collectives::Factor) {
    std::memmove(out, own, n * element);
  };
  plain.combine =
      plain.merge = [](void* out, const void* incoming, const void* own, std::size_t n, collectives::Factor) {
        touch(static_cast<const std::byte*>(incoming), n * element);
        std::memmove(out, own, n * element);
      };
  plain.finish = plain.finishMerge = [](void* out, void* copy, const void* incoming, const void* own,
                                        std::size_t n, collectives::Factor) {
    touch(static_cast<const std::byte*>(incoming), n * element);
    std::memmove(out, own, n * element);
    if (copy != nullptr) std::memmove(copy, out, n * element);
  };
  return plain;
}

class FuzzedExchange {
 public:
  static constexpr std::uint8_t kAdapts = 128;  // in the first byte; actions have no other use for it

  explicit FuzzedExchange(bool adapts)
      : mailboxes_(mailboxes()),
        exchange_(kFuzzedSelf, (*mailboxes_)[kFuzzedSelf], peersOf(*mailboxes_), false, false,
                  transport::CopyChoices::fromText(adapts ? "adapt=1" : "", kChoices), {},
                  collectives::SharedWork(), [this] { return now_ += tick_; }) {
    for (transport::Mailbox& mailbox : *mailboxes_) {
      std::memset(static_cast<void*>(&mailbox.descriptors), 0, sizeof mailbox.descriptors);
      mailbox.left = 0;
      mailbox.beat = 0;
    }
  }

  // Does the next action of the input.
  void act(Input& input) {
    const auto what = input.take<std::uint8_t>();
    transport::Mailbox& theirs = (*mailboxes_)[(what & 8) != 0 ? 2 : 0];
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
        const std::size_t at = input.take<std::uint16_t>() % sizeof theirs.descriptors;
        const auto piece =
            input.piece(std::min<std::size_t>(input.take<std::uint8_t>(), sizeof theirs.descriptors - at));
        if (!piece.empty())
          std::memcpy(reinterpret_cast<std::byte*>(&theirs.descriptors) + at, piece.data(), piece.size());
        break;
      }
      case 5:
        theirs.left = input.take<std::uint64_t>();
        break;
      case 6:
        peer((what & 8) != 0).admits = (what & 16) != 0;
        break;
      default:
        tick_ = std::chrono::nanoseconds(std::int64_t{1} << (what / 8));
        break;
    }
    step();
  }

 private:
  static inline const auto kChoices = transport::CopyChoices::fromText(
      "block_read_from=20000 block_read_up_to=50000 reduce_read_from=20000 reduce_read_up_to=50000");
  using AllMailboxes = std::array<transport::Mailbox, kFuzzedRanks>;
  static const std::shared_ptr<AllMailboxes>& mailboxes() {
    static const auto all = std::make_shared<AllMailboxes>();
    return all;
  }
  static FuzzedPeer& peer(bool last) {
    static FuzzedPeer first(0), second(2);
    return last ? second : first;
  }
  static std::vector<collectives::DirectPeer> peersOf(const AllMailboxes& all) {
    for (FuzzedPeer* memory : {&peer(false), &peer(true)}) memory->admits = true;
    return {{&all[0], &peer(false)}, {}, {&all[2], &peer(true)}};
  }
  // Buffers that others can map.
  static std::byte* shareable(std::size_t which) {
    static std::byte* const both = static_cast<std::byte*>(ShareableMemory::allocate(2 * kMaxBufferBytes));
    return both + which * kMaxBufferBytes;
  }

  // The number of the newest operation that this rank has posted.
  std::uint64_t posted() const {
    std::uint64_t newest = started_;
    for (const transport::Descriptor& descriptor : (*mailboxes_)[kFuzzedSelf].descriptors)
      newest = std::max(newest, descriptor.number.load());
    return newest;
  }

  void start(Input& input) {
    const collectives::DirectWork before = work_;
    const auto kind = input.take<std::uint8_t>();
    work_.function = kind >= 250 ? Function::kAlltoAll : kAllCollectives[kind % kAllCollectives.size()];
    work_.type = static_cast<DataType>(kind / 8 % kDataTypes);
    const auto how = input.take<std::uint8_t>();
    work_.op = how % kReduceOps;
    work_.scaled = (how & 8) != 0;
    work_.root = (how >> 4) % kFuzzedRanks;
    const std::size_t element = elementBytes(work_.type);
    work_.count = kFuzzedSizes[input.take<std::uint8_t>() % std::size(kFuzzedSizes)] / element;
    work_.reduction = plainReduction(element, work_.scaled);
    input_.reset(new std::byte[collectives::inputBytes(work_, kFuzzedRanks)]{});
    output_.reset(new std::byte[collectives::outputBytes(work_, kFuzzedRanks)]{});
    const bool shares = (how & 128) != 0;
    work_.input = shares ? shareable(0) : input_.get();
    work_.output = shares ? shareable(1) : output_.get();
    // Callers use startAgain() if nothing but the buffers has changed.
    const bool again = started_ > 0 && !work_.scaled && !before.scaled && work_.function == before.function &&
                       work_.type == before.type && work_.op == before.op && work_.root == before.root &&
                       work_.count == before.count;
    if (again)
      exchange_.startAgain(work_.input, work_.output);
    else
      exchange_.start(work_);
    ++started_;
    busy_ = true;
  }

  // Posts the descriptor of a correct peer, with the changes that the input asks for.
  void post(transport::Mailbox& mailbox, Input& input) {
    const auto how = input.take<std::uint8_t>();
    const std::uint64_t number = posted() + ((how & 3) == 3 ? 1 : 0);
    transport::Descriptor& descriptor = mailbox.slot(number);
    descriptor.call = collectives::postedCall(work_);
    descriptor.call.flags |= static_cast<std::uint8_t>(how >> 4 & ~transport::PostedCall::kScaled);
    for (transport::BufferPlace* place : {&descriptor.buffers.input, &descriptor.buffers.output}) {
      place->region = input.take<std::uint8_t>();
      place->address = input.take<std::uint32_t>();
      if ((how & 4) != 0) *place = {transport::BufferPlace::kFirstRegion, place->address % kMaxBufferBytes};
    }
    mailbox.beat = static_cast<std::uint32_t>(number);
    descriptor.number = number;
  }

  void step() {
    for (int i = 0; busy_ && i < 16; ++i) {
      const collectives::DirectExchange::Outcome outcome = exchange_.step();
      busy_ = outcome == collectives::DirectExchange::Outcome::kAdvanced ||
              outcome == collectives::DirectExchange::Outcome::kWouldBlock;
      if (outcome == collectives::DirectExchange::Outcome::kWouldBlock) {
        require(exchange_.waitsFor() == 0 || exchange_.waitsFor() == 2);
        return;
      }
    }
  }

  const std::shared_ptr<AllMailboxes> mailboxes_;
  std::chrono::steady_clock::time_point now_;
  std::chrono::nanoseconds tick_{1};  // between two looks at the clock
  collectives::DirectExchange exchange_;
  collectives::DirectWork work_;
  std::unique_ptr<std::byte[]> input_, output_;
  std::uint64_t started_ = 0;
  bool busy_ = false;
};

inline bool feedMailboxes(std::string_view bytes) {
  Input input(bytes);
  FuzzedExchange exchange(!bytes.empty() &&
                          (static_cast<std::uint8_t>(bytes.front()) & FuzzedExchange::kAdapts) != 0);
  try {
    for (int i = 0; i < 64 && !input.empty(); ++i) exchange.act(input);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace xylem
