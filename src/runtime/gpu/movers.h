#pragma once
// The warps that move the data of a slice: from own memory and slots of queues to own memory and slots, combining it on the way.
// One function for each type of elements, and one for data that is only moved, has the loops of all three protocols; the compiler
// must not merge them, as each keeps what it needs in registers.
//
//   moveSlice(m, block, block.slices[place], group);     // in every thread of the movers
//
// Under Simple the waiter has found the data to be there. Under LL and LL128 the movers see by the flags in the data what has
// arrived.

#include "core/shared_code.h"
#include "runtime/gpu/arithmetic.h"
#include "runtime/gpu/block.h"
#include "runtime/transport/queue/low_latency.h"

namespace xylem::gpu {

// The movers of a block, as one of their threads sees them.
struct MoverGroup {
  int index = 0;  // the thread's place
  int threads = 0;
};

// `bytes` bytes (1 to 8) at an address that is only aligned to elements.
template <Machine M>
XYLEM_KERNEL inline std::uint64_t gather(M& m, const std::byte* from, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  std::uint64_t word = 0;
  if (bytes == 8 && address % 8 == 0) return m.template load<std::uint64_t>(from);
  if (bytes % 4 == 0 && address % 4 == 0) {
    XYLEM_LOOP
    for (std::size_t i = 0; i < bytes; i += 4)
      word |= static_cast<std::uint64_t>(m.template load<std::uint32_t>(from + i)) << (8 * i);
  } else if (bytes % 2 == 0 && address % 2 == 0) {
    XYLEM_LOOP
    for (std::size_t i = 0; i < bytes; i += 2)
      word |= static_cast<std::uint64_t>(m.template load<std::uint16_t>(from + i)) << (8 * i);
  } else {
    XYLEM_LOOP
    for (std::size_t i = 0; i < bytes; ++i)
      word |= static_cast<std::uint64_t>(m.template load<std::uint8_t>(from + i)) << (8 * i);
  }
  return word;
}

template <Machine M>
XYLEM_KERNEL inline void scatter(M& m, std::byte* to, std::uint64_t word, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (bytes == 8 && address % 8 == 0) {
    m.template store<std::uint64_t>(to, word);
  } else if (bytes % 4 == 0 && address % 4 == 0) {
    XYLEM_LOOP
    for (std::size_t i = 0; i < bytes; i += 4)
      m.template store<std::uint32_t>(to + i, static_cast<std::uint32_t>(word >> (8 * i)));
  } else if (bytes % 2 == 0 && address % 2 == 0) {
    XYLEM_LOOP
    for (std::size_t i = 0; i < bytes; i += 2)
      m.template store<std::uint16_t>(to + i, static_cast<std::uint16_t>(word >> (8 * i)));
  } else {
    XYLEM_LOOP
    for (std::size_t i = 0; i < bytes; ++i)
      m.template store<std::uint8_t>(to + i, static_cast<std::uint8_t>(word >> (8 * i)));
  }
}

// A slice, as a thread of the movers sees it. Addresses stay in shared memory: a loop over queues is not unrolled, which would
// multiply the arithmetic in it.
template <typename Math>
struct SliceView {
  const Slice& slice;
  const std::byte* own;
  std::byte* out;
  int incoming;
  int outgoing;
  std::size_t bytes;
  bool enters;
  Math math;

  XYLEM_KERNEL SliceView(const Work& work, const Slice& of)
      : slice(of),
        own(of.own),
        out(of.out),
        incoming(of.incoming),
        outgoing(of.stores),
        bytes(of.bytes),
        enters(of.enters),
        math(work) {}

  // Scales own words, if the operation scales and they are not combined with others.
  XYLEM_KERNEL void enter(std::uint64_t* words, int n) const {
    if constexpr (Math::kComputes) {
      if (!enters) return;
      XYLEM_UNROLL
      for (int w = 0; w < n; ++w) words[w] = math.enter(words[w]);
    }
  }
  // Combines the values with the words of queue i, in place. Without own data the first queue's words are the value.
  template <int kWords>
  XYLEM_KERNEL void combine(int i, const std::uint64_t* words, std::uint64_t* values) const {
    if constexpr (Math::kComputes) {
      const collectives::Combination c = collectives::combinationAt(slice.now, static_cast<std::size_t>(i),
                                                                    static_cast<std::size_t>(incoming));
      XYLEM_UNROLL
      for (int w = 0; w < kWords; ++w) values[w] = math.combine(c, words[w], values[w]);
    } else {
      XYLEM_UNROLL
      for (int w = 0; w < kWords; ++w) values[w] = words[w];
    }
  }

  // 16 bytes can be accessed at once from this offset on: all addresses miss their alignment by the same bytes. Returns
  // `bytes` if they do not.
  XYLEM_KERNEL std::size_t firstPack() const {
    const std::byte* const one = own != nullptr ? own : slice.from[0];
    const auto miss = reinterpret_cast<std::uintptr_t>(one) % 16;
    bool same = out == nullptr || reinterpret_cast<std::uintptr_t>(out) % 16 == miss;
    XYLEM_LOOP
    for (int i = 0; i < incoming; ++i)
      same = same && reinterpret_cast<std::uintptr_t>(slice.from[i]) % 16 == miss;
    XYLEM_LOOP
    for (int i = 0; i < outgoing; ++i)
      same = same && reinterpret_cast<std::uintptr_t>(slice.to[i]) % 16 == miss;
    const std::size_t first = (16 - miss) % 16;
    return same && first < bytes ? first : bytes;
  }
};

// Simple: the stretch from `begin` to `end`, 8 bytes at a time, at any alignment.
template <Machine M, typename Math>
XYLEM_KERNEL inline void moveWords(M& m, const SliceView<Math>& view, MoverGroup group, std::size_t begin,
                                   std::size_t end) {
  const auto stride = static_cast<std::size_t>(group.threads) * 8;
  XYLEM_LOOP
  for (std::size_t at = begin + static_cast<std::size_t>(group.index) * 8; at < end; at += stride) {
    const std::size_t n = end - at < 8 ? end - at : 8;
    std::uint64_t value = 0;
    if (view.own != nullptr) {
      value = gather(m, view.own + at, n);
      view.enter(&value, 1);
    }
    XYLEM_LOOP
    for (int i = 0; i < view.incoming; ++i) {
      const std::uint64_t word = gather(m, view.slice.from[i] + at, n);
      view.template combine<1>(i, &word, &value);
    }
    if (view.out != nullptr) scatter(m, view.out + at, value, n);
    XYLEM_LOOP
    for (int i = 0; i < view.outgoing; ++i) scatter(m, view.slice.to[i] + at, value, n);
  }
}

// Simple: the same with 16 bytes at once, kUnroll times before the first is stored. Returns the offset after the last round.
template <int kUnroll, Machine M, typename Math>
XYLEM_KERNEL inline std::size_t movePacks(M& m, const SliceView<Math>& view, MoverGroup group,
                                          std::size_t begin, std::size_t end) {
  const auto row = static_cast<std::size_t>(group.threads) * 16;
  // The words of pack u are 2u and 2u + 1.
  const auto load = [&m, row](const std::byte* from, std::uint64_t(&words)[2 * kUnroll]) {
    XYLEM_UNROLL
    for (int u = 0; u < kUnroll; ++u) {
      const Pack pack = m.loadPack(from + static_cast<std::size_t>(u) * row);
      words[2 * u] = pack.words[0];
      words[2 * u + 1] = pack.words[1];
    }
  };
  const auto store = [&m, row](std::byte* to, const std::uint64_t(&words)[2 * kUnroll]) {
    XYLEM_UNROLL
    for (int u = 0; u < kUnroll; ++u)
      m.storePack(to + static_cast<std::size_t>(u) * row, Pack{{words[2 * u], words[2 * u + 1]}});
  };
  XYLEM_LOOP
  for (; end - begin >= kUnroll * row; begin += kUnroll * row) {
    const std::size_t at = begin + static_cast<std::size_t>(group.index) * 16;
    std::uint64_t values[2 * kUnroll]{};
    if (view.own != nullptr) {
      load(view.own + at, values);
      view.enter(values, 2 * kUnroll);
    }
    XYLEM_LOOP
    for (int i = 0; i < view.incoming; ++i) {
      std::uint64_t words[2 * kUnroll];
      load(view.slice.from[i] + at, words);
      view.template combine<2 * kUnroll>(i, words, values);
    }
    if (view.out != nullptr) store(view.out + at, values);
    XYLEM_LOOP
    for (int i = 0; i < view.outgoing; ++i) store(view.slice.to[i] + at, values);
  }
  return begin;
}

template <Machine M, typename Math>
XYLEM_KERNEL inline void moveSimple(M& m, const SliceView<Math>& view, MoverGroup group) {
  const std::size_t first = view.firstPack();
  moveWords(m, view, group, 0, first);
  std::size_t done = movePacks<Math::kUnroll>(m, view, group, first, view.bytes);
  if constexpr (Math::kUnroll > 4) done = movePacks<4>(m, view, group, done, view.bytes);
  if constexpr (Math::kUnroll > 1) done = movePacks<1>(m, view, group, done, view.bytes);
  moveWords(m, view, group, done, view.bytes);
}

// LL: a pair of words per thread and round.

// The payload of a pair once both words (or the first one) have arrived. Returns false if the block gives up.
template <Machine M>
XYLEM_KERNEL inline bool loadPair(M& m, Block& block, const std::byte* pair, std::uint32_t flag, bool isWhole,
                                  int peer, std::uint64_t& payload) {
  unsigned spins = 0;
  for (;;) {
    Pack words{};
    if (isWhole)
      words = m.loadWords(pair);
    else
      words.words[0] = words.words[1] = m.loadWord(pair);
    if (static_cast<std::uint32_t>(words.words[0] >> 32) == flag &&
        static_cast<std::uint32_t>(words.words[1] >> 32) == flag) {
      payload = (words.words[0] & 0xffffffffu) | words.words[1] << 32;
      waitedFor(m, block, spins);
      return true;
    }
    if (!keepWaiting(m, block, spins, peer)) return false;
  }
}

template <Machine M, typename Math>
XYLEM_KERNEL inline void moveLl(M& m, Block& block, const Slice& slice, const SliceView<Math>& view,
                                MoverGroup group) {
  const std::size_t pairs = (view.bytes + 7) / 8;
  XYLEM_LOOP
  for (auto pair = static_cast<std::size_t>(group.index); pair < pairs;
       pair += static_cast<std::size_t>(group.threads)) {
    const std::size_t at = pair * 8;
    const std::size_t n = view.bytes - at < 8 ? view.bytes - at : 8;
    const bool isWhole = n > transport::kLlPayloadBytes;
    std::uint64_t value = 0;
    if (view.own != nullptr) {
      value = gather(m, view.own + at, n);
      view.enter(&value, 1);
    }
    XYLEM_LOOP
    for (int i = 0; i < view.incoming; ++i) {
      std::uint64_t word = 0;
      const int peer = block.work.from[slice.fromQueue[i]].peer;
      if (!loadPair(m, block, slice.from[i] + 2 * at, transport::llFlag(slice.fromStep[i]), isWhole, peer,
                    word))
        return;
      view.template combine<1>(i, &word, &value);
    }
    if (view.out != nullptr) scatter(m, view.out + at, value, n);
    XYLEM_LOOP
    for (int i = 0; i < view.outgoing; ++i) {
      const std::uint64_t high = std::uint64_t{transport::llFlag(slice.toStep[i])} << 32;
      const Pack words{{high | (value & 0xffffffffu), high | value >> 32}};
      if (isWhole)
        m.storeWords(slice.to[i] + 2 * at, words);
      else
        m.storeWord(slice.to[i] + 2 * at, words.words[0]);
    }
  }
}

// LL128: eight threads have a line; all threads of a warp go round together.

template <Machine M, typename Math>
XYLEM_KERNEL inline void moveLl128(M& m, Block& block, const Slice& slice, const SliceView<Math>& view,
                                   MoverGroup group) {
  constexpr int kThreadsPerLine = 8;
  const std::size_t lines = transport::ll128Lines(view.bytes);
  const auto stride = static_cast<std::size_t>(group.threads / kThreadsPerLine);
  const auto part = static_cast<std::size_t>(group.index % kThreadsPerLine);
  const std::size_t most = part == kThreadsPerLine - 1 ? 8 : 16;
  // The line of the first thread of the warp decides whether there is another round.
  const auto warpFirst = static_cast<std::size_t>(group.index / M::kLanes * (M::kLanes / kThreadsPerLine));
  const auto inWarp = static_cast<std::size_t>(group.index % M::kLanes / kThreadsPerLine);
  XYLEM_LOOP
  for (std::size_t base = warpFirst; base < lines; base += stride) {
    const std::size_t line = base + inWarp;
    const bool isActive = line < lines;
    const std::size_t at = line * transport::kLl128PayloadBytes + part * 16;
    const std::size_t left = isActive && at < view.bytes ? view.bytes - at : 0;
    const std::size_t n = left < most ? left : most;
    const std::size_t lower = n < 8 ? n : 8;
    Pack value{};
    if (view.own != nullptr && n > 0) {
      value.words[0] = gather(m, view.own + at, lower);
      if (n > 8) value.words[1] = gather(m, view.own + at + 8, n - 8);
      view.enter(value.words, 2);
    }
    XYLEM_LOOP
    for (int i = 0; i < view.incoming; ++i) {
      const std::byte* const from =
          isActive ? slice.from[i] + line * transport::kLl128LineBytes + part * 16 : nullptr;
      const std::uint64_t flag = transport::ll128Flag(slice.fromStep[i]);
      Pack incoming{};
      unsigned spins = 0;
      bool goesOn = true;
      while (!m.all(m.loadLine(from, flag, incoming))) {
        goesOn = keepWaiting(m, block, spins, block.work.from[slice.fromQueue[i]].peer);
        // Looks are in the same rounds in all threads of a warp.
        if (spins % M::kSpinsPerLook == 0 && m.any(!goesOn)) return;
      }
      waitedFor(m, block, spins);
      view.template combine<2>(i, incoming.words, value.words);
    }
    if (view.out != nullptr && n > 0) {
      scatter(m, view.out + at, value.words[0], lower);
      if (n > 8) scatter(m, view.out + at + 8, value.words[1], n - 8);
    }
    XYLEM_LOOP
    for (int i = 0; i < view.outgoing; ++i)
      m.storeLine(isActive ? slice.to[i] + line * transport::kLl128LineBytes + part * 16 : nullptr,
                  transport::ll128Flag(slice.toStep[i]), value);
  }
}

template <Machine M, typename Math>
XYLEM_KERNEL inline void moveBy(M& m, Block& block, const Slice& slice, MoverGroup group) {
  const SliceView<Math> view(block.work, slice);
  if (slice.incoming + slice.outgoing == 0 || block.work.protocol == Protocol::kSimple)
    moveSimple(m, view, group);
  else if (block.work.protocol == Protocol::kLl)
    moveLl(m, block, slice, view, group);
  else
    moveLl128(m, block, slice, view, group);
}

template <Machine M, DataType kType>
XYLEM_KERNEL __attribute__((noinline)) void moveElements(M& m, Block& block, const Slice& slice,
                                                         MoverGroup group) {
  moveBy<M, Arithmetic<kType>>(m, block, slice, group);
}
template <Machine M>
XYLEM_KERNEL __attribute__((noinline)) void moveBytes(M& m, Block& block, const Slice& slice,
                                                      MoverGroup group) {
  moveBy<M, NoArithmetic>(m, block, slice, group);
}

template <Machine M>
XYLEM_KERNEL inline void moveSlice(M& m, Block& block, const Slice& slice, MoverGroup group) {
  if (!slice.enters && (slice.incoming == 0 || slice.own == nullptr))
    return moveBytes(m, block, slice, group);
  switch (block.work.type) {
#define XYLEM_TYPE(TYPE) \
  case DataType::TYPE:   \
    return moveElements<M, DataType::TYPE>(m, block, slice, group);
    XYLEM_TYPE(kInt8)
    XYLEM_TYPE(kUint8)
    XYLEM_TYPE(kInt32)
    XYLEM_TYPE(kUint32)
    XYLEM_TYPE(kInt64)
    XYLEM_TYPE(kUint64)
    XYLEM_TYPE(kFloat16)
    XYLEM_TYPE(kFloat32)
    XYLEM_TYPE(kFloat64)
    XYLEM_TYPE(kBfloat16)
    XYLEM_TYPE(kFloat8e4m3)
    XYLEM_TYPE(kFloat8e5m2)
#undef XYLEM_TYPE
  }
}

}  // namespace xylem::gpu
