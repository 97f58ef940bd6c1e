#include "runtime/collectives/calibration.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

#include "core/error.h"
#include "runtime/collectives/direct_exchange.h"
#include "runtime/collectives/transfer.h"
#include "runtime/collectives/two_sides.h"
#include "runtime/transport/local/peer_memory.h"
#include "runtime/transport/local/process_memory.h"
#include "runtime/transport/local/readable_memory.h"
#include "runtime/transport/local/shared_memory.h"

namespace xylem::collectives {
namespace {

using Clock = std::chrono::steady_clock;
using transport::CopyChoices;
using transport::SharedMemory;

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::uint64_t kAlways = std::uint64_t{1} << 40;

constexpr std::array kJoiningMessages = {8 * kKiB, 32 * kKiB, 128 * kKiB, 512 * kKiB};
constexpr std::array kAllMessages = {4 * kKiB,   8 * kKiB,   16 * kKiB,  32 * kKiB, 64 * kKiB,
                                     128 * kKiB, 256 * kKiB, 512 * kKiB, 1 * kMiB,  2 * kMiB,
                                     4 * kMiB,   8 * kMiB,   16 * kMiB};
// The input of each rank; its output has two of them.
constexpr std::array kJoiningBlocks = {16 * kKiB, 64 * kKiB, 256 * kKiB};
constexpr std::array kAllBlocks = {8 * kKiB,   16 * kKiB, 32 * kKiB, 64 * kKiB, 128 * kKiB, 256 * kKiB,
                                   512 * kKiB, 1 * kMiB,  2 * kMiB,  4 * kMiB,  8 * kMiB,   16 * kMiB};
constexpr std::array kStreamedMessages = {4 * kMiB, 8 * kMiB, 16 * kMiB, 32 * kMiB};
// Bytes of all buffers of an exchange.
constexpr std::array kStreamedExchanges = {8 * kMiB, 16 * kMiB, 32 * kMiB, 64 * kMiB, 128 * kMiB};

// How one side reaches the other's memory.
enum class Reach { kNothing, kThroughKernel, kMapped };

// Both sides are in one process. The kernel copies out of the own process at nearly the same cost as out of another one.
class OtherSide final : public transport::PeerMemory {
 public:
  OtherSide(Reach reach, const CopyChoices& choices) : reach_(reach), choices_(choices) {}

  bool locate(const std::byte* data, std::size_t, bool, transport::StepNote& note) override {
    note.region = 1;
    note.address = reinterpret_cast<std::uintptr_t>(data);
    return reach_ != Reach::kNothing;
  }
  const std::byte* reach(const transport::StepNote& note) override {
    return reach_ == Reach::kMapped ? reinterpret_cast<const std::byte*>(note.address) : nullptr;
  }
  std::byte* at(const transport::BufferPlace& place, std::size_t) override {
    return reach_ == Reach::kMapped ? reinterpret_cast<std::byte*>(place.address) : nullptr;
  }
  std::size_t streamsFrom() const override { return choices_.streamMessage; }
  bool peerReads() const override { return reach_ == Reach::kThroughKernel; }
  Handover handoverFrom() const override { return choices_.handover(choices_.far != 0); }
  Handover handoverTo(std::uint32_t) const override { return handoverFrom(); }
  void read(const transport::StepNote& note, std::byte* out) override {
    if (!transport::readProcess(getpid(), note.address, out, note.bytes))
      throw Error(ResultCode::kSystemError, "cannot read memory through the kernel: {}", errnoText(errno));
  }

 private:
  const Reach reach_;
  const CopyChoices choices_;
};

bool kernelReads() {
  const std::byte here{};
  return transport::ReadableMemory().holds(&here, 1);
}

// Each side sends a message to the other and receives one, through queues like those between ranks. A rank alone with one direction waits
// meanwhile, or copies a part of what is read: how long it takes says less about a rank that has both to do.
class Messages {
 public:
  Messages(Reach reach, const CopyChoices& choices)
      : memory_(reach, choices), from0_(choices, memory_, 0), from1_(choices, memory_, 1) {}

  void run(const TwoSides& sides, const SideBuffers& buffers, std::size_t bytes, int side) {
    Direction& out = side == 0 ? from0_ : from1_;
    Direction& in = side == 0 ? from1_ : from0_;
    std::array<Transfer, 2> transfers;
    transfers[0].start(
        {.to = &out.sender, .input = buffers.input(side), .bytes = bytes, .protocol = Protocol::kSimple});
    transfers[1].start({.from = &in.receiver,
                        .output = buffers.output(side),
                        .bytes = bytes,
                        .protocol = Protocol::kSimple});
    std::array<bool, 2> done{};
    sides.goOn([&] {
      for (std::size_t i = 0; i < transfers.size(); ++i)
        if (!done[i]) done[i] = transfers[i].step() == device::Progress::kDone;
      return done[0] && done[1];
    });
  }

 private:
  struct Direction {
    Direction(const CopyChoices& choices, OtherSide& memory, int from)
        : slots(choices.widensSlots() ? transport::Slots::kWide : transport::Slots::kNarrow),
          queueMemory(SharedMemory::create("xylem calibration", transport::queueBytes(steps(), slots))),
          queue(transport::queueIn(queueMemory.data(), steps(), slots)),
          sender(1 - from, queue, &memory),
          receiver(from, queue, &memory) {}
    static transport::StepBytes steps() { return transport::stepBytesFor(std::size_t{4} << 20); }

    const transport::Slots slots;
    const SharedMemory queueMemory;
    const transport::QueueMemory queue;
    transport::SendEnd sender;
    transport::RecvEnd receiver;
  };

  OtherSide memory_;
  Direction from0_, from1_;
};

// Mailboxes that exchanges have one after the other: the first use of new memory takes longer than all that is timed. A side keeps its own, whose
// pages lie near it.
class Mailboxes {
 public:
  // One in which no operation has been posted yet.
  SharedMemory take(std::size_t side) {
    std::vector<SharedMemory>& unused = unused_[side];
    if (unused.empty()) return SharedMemory::create("xylem calibration", sizeof(transport::Mailbox));
    SharedMemory memory = std::move(unused.back());
    unused.pop_back();
    auto& mailbox = *reinterpret_cast<transport::Mailbox*>(memory.data());
    for (transport::Descriptor& descriptor : mailbox.descriptors) descriptor.number.store(0);
    mailbox.left.store(0);
    mailbox.beat.store(0);
    return memory;
  }
  void giveBack(std::size_t side, SharedMemory memory) { unused_[side].push_back(std::move(memory)); }

 private:
  std::array<std::vector<SharedMemory>, 2> unused_;
};

// Both sides make AllReduces or AllGathers of floats.
class Exchanges {
 public:
  Exchanges(Mailboxes& mailboxes, Reach reach, const CopyChoices& choices)
      : mailboxes_(mailboxes), memory_(reach, choices), ofSides_{mailboxes.take(0), mailboxes.take(1)} {
    for (int side = 0; side < 2; ++side) {
      std::vector<DirectPeer> peers(2);
      peers[static_cast<std::size_t>(1 - side)] = {mailbox(1 - side), &memory_};
      exchanges_.push_back(std::make_unique<DirectExchange>(side, *mailbox(side), std::move(peers),
                                                            reach == Reach::kMapped, false, choices));
    }
  }
  ~Exchanges() {
    for (std::size_t side : {0, 1}) mailboxes_.giveBack(side, std::move(ofSides_[side]));
  }
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  // `bytes`: of a rank's input.
  void run(const TwoSides& sides, const SideBuffers& buffers, std::size_t bytes, int times, int side,
           Function function = Function::kAllReduce) {
    DirectExchange& exchange = *exchanges_[static_cast<std::size_t>(side)];
    DirectWork work;
    work.function = function;
    work.input = buffers.input(side);
    work.output = buffers.output(side);
    work.count = bytes / elementBytes(DataType::kFloat32);
    work.type = DataType::kFloat32;
    work.op = static_cast<std::uint8_t>(ReduceOp::kSum);
    work.reduction = reduces(function) ? chooseReduction(DataType::kFloat32, ReduceOp::kSum, 2)
                                       : copyOf(DataType::kFloat32);
    for (int i = 0; i < times; ++i) {
      exchange.start(work);
      sides.goOn([&] { return exchange.step() == DirectExchange::Outcome::kDone; });
    }
  }

 private:
  transport::Mailbox* mailbox(int side) const {
    return reinterpret_cast<transport::Mailbox*>(ofSides_[side].data());
  }

  Mailboxes& mailboxes_;
  OtherSide memory_;
  SharedMemory ofSides_[2];
  std::vector<std::unique_ptr<DirectExchange>> exchanges_;
};

class Calibrator {
 public:
  Calibrator(const device::CorePair& cores, const CalibrationEffort& effort)
      : effort_(effort), end_(Clock::now() + effort.time), sides_(cores, end_) {}

  // If time runs out, what was chosen until then holds.
  void run(Calibration& found) {
    using Step = void (Calibrator::*)(const SideBuffers&, Calibration&);
    // The number of those that are done is remembered (ChoiceFile): if these change, its first line has to.
    static constexpr Step kSteps[] = {&Calibrator::chooseDistance,
                                      &Calibrator::chooseCycle,
                                      &Calibrator::chooseReads,
                                      &Calibrator::chooseGatherReads,
                                      &Calibrator::chooseReduceReads,
                                      &Calibrator::choosePiece,
                                      &Calibrator::chooseStaged,
                                      &Calibrator::chooseWhole,
                                      &Calibrator::chooseStreamedMessages,
                                      &Calibrator::chooseStreamedExchanges};
    static_assert(kCalibrationSteps + 2 == std::size(kSteps));  // the last two are about large data
    const SideBuffers buffers(sides_, effort_.large ? kStreamedMessages.back() : kJoiningMessages.back());
    const int steps = effort_.large ? static_cast<int>(std::size(kSteps)) : kCalibrationSteps;
    for (; found.steps < steps; ++found.steps) (this->*kSteps[found.steps])(buffers, found);
    found.complete = true;
  }

 private:
  using Way = std::function<void(std::size_t bytes, int side)>;
  static constexpr int kInARow = 3;

  // All ways of an operation, at each size; those of one size take turns, so that a disturbance meets all of them. A turn is several
  // times in a row: after anything else the kernel takes up to twice as long for what it has not read of late.
  std::vector<TimedWays> time(const char* operation, const std::vector<std::string>& names,
                              const std::vector<Way>& ways, std::span<const std::uint64_t> sizes,
                              int operations = 1) {
    std::vector<TimedWays> all;
    for (const std::uint64_t bytes : sizes) {
      TimedWays& timed =
          all.emplace_back(TimedWays{operation, names, bytes, std::vector<double>(ways.size(), INFINITY)});
      if (effort_.repeats > 1) timed.halves.fill(timed.microseconds);
      for (int repeat = 0; repeat < effort_.repeats; ++repeat)
        for (std::size_t way = 0; way < ways.size(); ++way)
          for (int again = 0; again < kInARow; ++again) {
            const double took = sides_.time([&](int side) { ways[way](bytes, side); }) / operations;
            timed.microseconds[way] = std::min(timed.microseconds[way], took);
            if (effort_.repeats == 1) continue;
            double& ofHalf = timed.halves[2 * repeat < effort_.repeats ? 0 : 1][way];
            ofHalf = std::min(ofHalf, took);
          }
    }
    return all;
  }
  static std::span<const TimedWays> keep(Calibration& found, std::vector<TimedWays> timed) {
    const std::size_t first = found.timed.size();
    found.timed.insert(found.timed.end(), timed.begin(), timed.end());
    return std::span<const TimedWays>(found.timed).subspan(first);
  }

  void chooseReads(const SideBuffers& buffers, Calibration& found) {
    if (!kernelReads()) return;
    Messages staged(Reach::kNothing, found.choices), read(Reach::kThroughKernel, found.choices);
    // The first message through a slot waits for its memory.
    for (int i = 0; i < 2; ++i)
      sides_.time([&](int side) { staged.run(sides_, buffers, buffers.bytes(), side); });
    const auto timed =
        keep(found, time("send and receive", {"staged", "read"},
                         {[&](std::size_t bytes, int side) { staged.run(sides_, buffers, bytes, side); },
                          [&](std::size_t bytes, int side) { read.run(sides_, buffers, bytes, side); }},
                         effort_.large ? std::span<const std::uint64_t>(kAllMessages) : kJoiningMessages));
    const FasterRange range = whereSecondIsFaster(timed);
    found.choices.readFrom = range.from;
    found.choices.readUpTo = range.upTo;
  }

  void chooseGatherReads(const SideBuffers& buffers, Calibration& found) {
    chooseBlockReads(buffers, Function::kAllGather, found);
  }
  void chooseReduceReads(const SideBuffers& buffers, Calibration& found) {
    chooseBlockReads(buffers, Function::kAllReduce, found);
  }
  void chooseBlockReads(const SideBuffers& buffers, Function function, Calibration& found) {
    if (!kernelReads()) return;
    CopyChoices never = found.choices, always = found.choices;
    always.blockReadUpTo = always.reduceReadUpTo = kAlways;
    Exchanges staged(mailboxes_, Reach::kNothing, never), read(mailboxes_, Reach::kThroughKernel, always);
    fillRing(staged, buffers, never.cycle);
    const auto wayOf = [&](Exchanges& exchanges) {
      return [this, &buffers, function, exchanges = &exchanges](std::size_t bytes, int side) {
        exchanges->run(sides_, buffers, bytes, 1, side, function);
      };
    };
    const auto timed =
        keep(found, time(reduces(function) ? "AllReduce" : "AllGather, bytes of each", {"staged", "read"},
                         {wayOf(staged), wayOf(read)},
                         effort_.large ? std::span<const std::uint64_t>(kAllBlocks) : kJoiningBlocks));
    const FasterRange range = whereSecondIsFaster(timed);
    (reduces(function) ? found.choices.reduceReadFrom : found.choices.blockReadFrom) = range.from;
    (reduces(function) ? found.choices.reduceReadUpTo : found.choices.blockReadUpTo) = range.upTo;
  }

  // The first data in staging memory waits for the memory itself.
  void fillRing(Exchanges& exchanges, const SideBuffers& buffers, std::uint64_t cycle) {
    constexpr std::size_t kAtOnce = transport::kMostStaged;
    sides_.time([&](int side) {
      exchanges.run(sides_, buffers, kAtOnce, static_cast<int>(cycle / kAtOnce), side, Function::kAllGather);
    });
  }

  // The time of a line that the other side has just written, with that of reading the clock.
  std::chrono::nanoseconds timeLine() {
    constexpr std::uint32_t kTimes = 33;
    struct alignas(4096) Page {
      std::atomic<std::uint32_t> value{0};
    };
    Page beat, written, read;
    std::array<std::chrono::nanoseconds, kTimes> times{};
    sides_.time([&](int side) {
      transport::BeatProbe probe;
      for (std::uint32_t i = 1; i <= kTimes; ++i) {
        const auto isAt = [i](const Page& page) {
          return [&page, i] { return page.value.load(std::memory_order_acquire) >= i; };
        };
        if (side == 1) {
          beat.value.store(i, std::memory_order_release);
          written.value.store(i, std::memory_order_release);
          sides_.goOn(isAt(read));
          continue;
        }
        sides_.goOn(isAt(written));
        if (const auto time = probe.load(beat.value)) times[i - 1] = *time;
        read.value.store(i, std::memory_order_release);
      }
    });
    std::ranges::nth_element(times, times.begin() + kTimes / 2);
    return times[kTimes / 2];
  }

  // Whether the cores are far from each other now; and if so, whether it is faster to write past the caches what is staged.
  void chooseDistance(const SideBuffers& buffers, Calibration& found) {
    CopyChoices now = found.choices;
    now.far = transport::CoreDistance::isFar(timeLine()) ? 1 : 0;
    if (now.far == 0) {
      found.choices = now;
      return;
    }
    CopyChoices past = now, through = now;
    past.streamFar = 1;
    through.streamFar = 0;
    Exchanges streamed(mailboxes_, Reach::kNothing, past), cached(mailboxes_, Reach::kNothing, through);
    for (Exchanges* const exchanges : {&streamed, &cached}) fillRing(*exchanges, buffers, past.cycle);
    constexpr int kTimes = 32;
    static constexpr std::array kBlocks = {64 * kKiB};
    const auto wayOf = [&](Exchanges& exchanges) {
      return [this, &buffers, made = &exchanges](std::size_t bytes, int side) {
        made->run(sides_, buffers, bytes, kTimes, side, Function::kAllGather);
      };
    };
    const auto timed = keep(found, time("AllGather between far cores, bytes of each",
                                        {"staged through the caches", "staged past them"},
                                        {wayOf(cached), wayOf(streamed)}, kBlocks, kTimes));
    now.streamFar = fastestWay(timed, now.streamFar);
    found.choices = now;
  }

  // Each time goes through the smallest ring more than twice: its lines are then where they are when a program goes on like this.
  void chooseCycle(const SideBuffers& buffers, Calibration& found) {
    // Past the caches all take as long. The cores may come near each other, and on Zen 4 this one then takes the least time.
    if (found.choices.far != 0 && found.choices.streamFar != 0) {
      found.choices.cycle = transport::kStagingRingBytes / 2;
      return;
    }
    const std::vector<std::uint64_t> cycles = {transport::kLeastCycle, transport::kStagingRingBytes / 2,
                                               transport::kStagingRingBytes};
    static constexpr std::array kBlocks = {64 * kKiB};
    std::vector<std::unique_ptr<Exchanges>> exchanges;
    std::vector<std::string> names;
    std::vector<Way> ways;
    constexpr int kTimes = 32;
    for (const std::uint64_t cycle : cycles) {
      CopyChoices choices = found.choices;
      choices.cycle = cycle;
      names.push_back(
          fmt::format("through {}{} KiB", cycle == transport::kLeastCycle ? "up to " : "", cycle / kKiB));
      Exchanges& made =
          *exchanges.emplace_back(std::make_unique<Exchanges>(mailboxes_, Reach::kNothing, choices));
      fillRing(made, buffers, cycle);
      ways.push_back([this, &buffers, &made](std::size_t bytes, int side) {
        made.run(sides_, buffers, bytes, kTimes, side, Function::kAllGather);
      });
    }
    const auto timed = keep(found, time("staged AllGather, bytes of each", names, ways, kBlocks, kTimes));
    found.choices.cycle = cycles[fastestWay(timed, 0)];
  }

  void choosePiece(const SideBuffers& buffers, Calibration& found) {
    const std::vector<std::uint64_t> pieces = {64 * kKiB, 128 * kKiB, transport::kMostStaged};
    static constexpr std::array kExchange = {512 * kKiB};
    std::vector<std::unique_ptr<Exchanges>> exchanges;
    std::vector<std::string> names;
    std::vector<Way> ways;
    for (const std::uint64_t piece : pieces) {
      CopyChoices choices = found.choices;
      choices.piece = piece;
      names.push_back(fmt::format("pieces of {} KiB", piece / kKiB));
      Exchanges& made =
          *exchanges.emplace_back(std::make_unique<Exchanges>(mailboxes_, Reach::kNothing, choices));
      fillRing(made, buffers, choices.cycle);
      ways.push_back([this, &buffers, &made](std::size_t bytes, int side) {
        made.run(sides_, buffers, bytes, 1, side);
      });
    }
    const auto timed = keep(found, time("AllReduce", names, ways, kExchange));
    found.choices.piece = pieces[fastestWay(timed, pieces.size() - 1)];
  }

  // With this many in a row, the other way's data in the caches counts little.
  void chooseStaged(const SideBuffers& buffers, Calibration& found) {
    constexpr int kTimes = 48;
    static constexpr std::array kSizes = {kKiB / 2, kKiB, 2 * kKiB, 4 * kKiB, 8 * kKiB};
    CopyChoices always = found.choices, never = found.choices;
    always.staged = transport::kMostStaged;
    never.staged = transport::kFirstLineBytes;
    Exchanges staged(mailboxes_, Reach::kMapped, always), mapped(mailboxes_, Reach::kMapped, never);
    fillRing(staged, buffers, always.cycle);
    const auto timed = keep(
        found, time("small AllReduce", {"staged", "mapped"},
                    {[&](std::size_t bytes, int side) { staged.run(sides_, buffers, bytes, kTimes, side); },
                     [&](std::size_t bytes, int side) { mapped.run(sides_, buffers, bytes, kTimes, side); }},
                    kSizes, kTimes));
    found.choices.staged = bestLimit(timed, found.choices.staged);
  }

  // Several in a row, so that a side which has come early waits for a small part of the time.
  void chooseWhole(const SideBuffers& buffers, Calibration& found) {
    constexpr int kTimes = 4;
    static constexpr std::array kBlocks = {64 * kKiB, 128 * kKiB, 256 * kKiB};
    CopyChoices always = found.choices, never = found.choices;
    always.whole = kAlways;
    never.whole = CopyChoices::kLittleWhole;
    Exchanges whole(mailboxes_, Reach::kNothing, always), shared(mailboxes_, Reach::kNothing, never);
    for (Exchanges* const exchanges : {&whole, &shared}) fillRing(*exchanges, buffers, always.cycle);
    const auto wayOf = [&](Exchanges& exchanges) {
      return [this, &buffers, made = &exchanges](std::size_t bytes, int side) {
        made->run(sides_, buffers, bytes, kTimes, side);
      };
    };
    const auto timed = keep(found, time("staged AllReduce", {"whole", "in shares"},
                                        {wayOf(whole), wayOf(shared)}, kBlocks, kTimes));
    found.choices.whole = bestLimit(timed, found.choices.whole);
  }

  void chooseStreamedMessages(const SideBuffers& buffers, Calibration& found) {
    CopyChoices always = found.choices, never = found.choices;
    always.streamMessage = 0;
    never.streamMessage = kAlways;
    Messages plain(Reach::kMapped, never), streamed(Reach::kMapped, always);
    const auto timed =
        keep(found, time("mapped send and receive", {"plain", "streamed"},
                         {[&](std::size_t bytes, int side) { plain.run(sides_, buffers, bytes, side); },
                          [&](std::size_t bytes, int side) { streamed.run(sides_, buffers, bytes, side); }},
                         kStreamedMessages));
    found.choices.streamMessage = streamsFrom(timed, found.choices.streamMessage);
  }

  void chooseStreamedExchanges(const SideBuffers& buffers, Calibration& found) {
    CopyChoices always = found.choices, never = found.choices;
    always.streamExchange = 0;
    never.streamExchange = kAlways;
    Exchanges plain(mailboxes_, Reach::kMapped, never), streamed(mailboxes_, Reach::kMapped, always);
    // Two ranks with two buffers each.
    const auto timed = keep(
        found, time("mapped AllReduce, bytes of all buffers", {"plain", "streamed"},
                    {[&](std::size_t bytes, int side) { plain.run(sides_, buffers, bytes / 4, 1, side); },
                     [&](std::size_t bytes, int side) { streamed.run(sides_, buffers, bytes / 4, 1, side); }},
                    kStreamedExchanges));
    found.choices.streamExchange = streamsFrom(timed, found.choices.streamExchange);
  }

  // Streaming pays from some size on, if at all; sizes behind the largest one are not known.
  static std::uint64_t streamsFrom(std::span<const TimedWays> timed, std::uint64_t usual) {
    if (timed.empty()) return usual;
    const FasterRange range = whereSecondIsFaster(timed);
    if (range.upTo > timed.back().bytes) return range.from;
    const TimedWays& largest = timed.back();
    return largest.gain(1, 0) > kClearlyFaster ? 2 * largest.bytes : usual;
  }

  const CalibrationEffort effort_;
  const Clock::time_point end_;
  TwoSides sides_;
  Mailboxes mailboxes_;
};

std::string sizeOf(std::uint64_t bytes) {
  if (bytes % kMiB == 0 && bytes > 0) return fmt::format("{} MiB", bytes / kMiB);
  return bytes % kKiB == 0 && bytes > 0 ? fmt::format("{} KiB", bytes / kKiB) : fmt::format("{} B", bytes);
}

// A way that gains this much at the largest size that was measured is taken to be faster for all larger ones, too; one that gains less, for
// sizes up to twice as large.
constexpr double kFarAhead = 1.4;

std::uint64_t between(std::uint64_t a, std::uint64_t b) {
  const auto middle = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
  return std::max<std::uint64_t>(1, middle / kKiB) * kKiB;
}

}  // namespace

double TimedWays::gain(std::size_t from, std::size_t to) const {
  const auto in = [&](const std::vector<double>& times) { return times[from] / times[to]; };
  return halves[0].empty() ? in(microseconds) : std::min(in(halves[0]), in(halves[1]));
}

FasterRange whereSecondIsFaster(std::span<const TimedWays> timed) {
  const auto gain = [&](std::size_t i) { return timed[i].gain(0, 1); };
  FasterRange best;
  double most = 0;
  for (std::size_t first = 0, end = 0; first < timed.size(); first = end + 1) {
    double logs = 0;
    for (end = first; end < timed.size() && gain(end) > kClearlyFaster; ++end) logs += std::log(gain(end));
    if (logs <= most) continue;
    most = logs;
    best.from = first == 0 ? timed[0].bytes : between(timed[first - 1].bytes, timed[first].bytes);
    best.upTo = end == timed.size() ? (gain(end - 1) > kFarAhead ? kAlways : 2 * timed[end - 1].bytes)
                                    : between(timed[end - 1].bytes, timed[end].bytes);
  }
  return best;
}

std::size_t fastestWay(std::span<const TimedWays> timed, std::size_t usual) {
  if (timed.empty()) return usual;
  std::size_t best = usual;
  double most = std::log(kClearlyFaster);
  for (std::size_t way = 0; way < timed.front().microseconds.size(); ++way) {
    double gained = 0;
    for (const TimedWays& one : timed) gained += std::log(one.gain(usual, way));
    gained /= static_cast<double>(timed.size());
    if (gained <= most) continue;
    most = gained;
    best = way;
  }
  return best;
}

std::string Calibration::numbers() const {
  std::string text;
  const TimedWays* before = nullptr;
  for (const TimedWays& one : timed) {
    if (before == nullptr || before->operation != one.operation || before->ways != one.ways) {
      text += fmt::format("{}{}, ", before == nullptr ? "" : "; ", one.operation);
      for (std::size_t i = 0; i < one.ways.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : "/", one.ways[i]);
      text += " in us:";
    } else {
      text += ",";
    }
    text += fmt::format(" {} ", sizeOf(one.bytes));
    for (std::size_t i = 0; i < one.microseconds.size(); ++i)
      text += fmt::format("{}{:.3g}", i == 0 ? "" : "/", one.microseconds[i]);
    before = &one;
  }
  return text;
}

std::uint64_t bestLimit(std::span<const TimedWays> timed, std::uint64_t usual) {
  const auto logOf = [&](std::uint64_t limit) {
    double sum = 0;
    for (const TimedWays& one : timed) sum += std::log(one.microseconds[one.bytes <= limit ? 0 : 1]);
    return sum / static_cast<double>(timed.size());
  };
  std::uint64_t best = usual;
  for (const TimedWays& one : timed)
    if (logOf(one.bytes) < logOf(best)) best = one.bytes;
  double gained = 0;
  for (const TimedWays& one : timed) {
    const std::size_t before = one.bytes <= usual ? 0 : 1, now = one.bytes <= best ? 0 : 1;
    if (before != now) gained += std::log(one.gain(before, now));
  }
  return timed.empty() || gained / static_cast<double>(timed.size()) < std::log(kClearlyFaster) ? usual
                                                                                                : best;
}

Calibration calibrate(const device::CorePair& cores, const CalibrationEffort& effort, int steps,
                      const transport::CopyChoices& choices) {
  Calibration found{.choices = choices, .timed = {}, .steps = steps};
  try {
    Calibrator(cores, effort).run(found);
  } catch (const OutOfTime&) {
  }
  return found;
}

}  // namespace xylem::collectives
