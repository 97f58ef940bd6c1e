#pragma once
// How data moves between the ranks of a host, where it can move in several ways. The processor, its caches, the
// hypervisor and the places of the ranks decide which way is the fastest. So these values are measured
// (collectives/calibration.h) and remembered (choice_file.h), or pinned (XYLEM_COPY_CHOICES).
//
//   const CopyChoices choices = CopyChoices::fromText("read_from=8192 read_up_to=1048576");
//   if (choices.reads(message)) ...
//   choices.text()    ->   "read_from=8192 read_up_to=1048576 piece=262144 ..."
//
// Ranks that exchange data must agree. The first rank of a host makes the choices of all its ranks, which learn them when they
// join: no rank has choices of its own.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/copying.h"
#include "runtime/transport/local/mailbox.h"

namespace xylem::transport {

struct CopyChoices {
  // Messages of readFrom to readUpTo - 1 bytes are read by the receiver out of the sender's process, through the kernel. Others,
  // and all if both are equal, are copied through shared memory. Bytes; the sender's choice counts.
  std::uint64_t readFrom = 0, readUpTo = 0;
  // Blocks of blockReadFrom to blockReadUpTo - 1 bytes of an exchange are read likewise, if not all buffers can be mapped. In an AllReduce it
  // is those from reduceReadFrom on: it stages as many bytes as a block has, but has two system calls if it reads.
  std::uint64_t blockReadFrom = 0, blockReadUpTo = 0;
  std::uint64_t reduceReadFrom = 0, reduceReadUpTo = 0;
  // The most that a rank stages at once in an exchange of all ranks, in bytes.
  std::uint64_t piece = kMostStaged;
  // The most of others' staged blocks, in bytes, that a rank reads to reduce all elements by itself (mostWhole). If it had to read more, each
  // rank reduces its share of the elements, for which ranks meet twice.
  static constexpr std::uint64_t kLittleWhole = std::uint64_t{32} << 10;
  std::uint64_t whole = kLittleWhole;
  // A rank goes through this many bytes of its staging memory before it writes the first of them again, if it stages more than
  // mostInAreas() at once.
  std::uint64_t cycle = kLeastCycle;
  // An exchange is staged, even if all buffers can be mapped, if no rank reads more than this many bytes.
  std::uint64_t staged = std::uint64_t{2} << 10;
  // Messages of this many bytes or more are written past the caches.
  std::uint64_t streamMessage = kStreamedMessage;
  // Results of an exchange are written past the caches if all ranks' buffers together have more bytes than this, but for those of reductions in
  // place. With `adapt`, this is where mapped ones begin.
  std::uint64_t streamExchange = std::uint64_t{48} << 20;
  // 1: data that is staged for a far core, and steps of messages to it, are written past the caches.
  std::uint64_t streamFar = 0;
  // 1: ranks take the others' cores for far when they begin, until they have found out.
  std::uint64_t far = 0;
  // 1: what is read, staged and written past the caches is only where ranks begin. While they run they try the other way now and then
  // (two_ways.h). 0: they keep to it.
  std::uint64_t adapt = 0;
  // 1: memory that others often read through the kernel is put into huge pages (local/huge_pages.h).
  std::uint64_t hugePages = 1;

  // Whether a long cycle is faster: to write lines again that others have just read takes longer than all the rest.
  bool goesFar() const { return cycle > kLeastCycle; }
  // The most that is staged at once in areas, which are written again soon; more goes round the ring. Where a long cycle is faster, it is
  // from 2 KiB on.
  std::size_t mostInAreas() const { return goesFar() ? std::size_t{2} << 10 : kSmallStagingBytes; }
  // As `whole`. Two ranks move as many bytes whole as in shares, but more ranks move more; and elements of 8 bits may take longer to reduce than
  // to copy, so that two ranks are faster at it than one.
  std::size_t mostWhole(int ranks, std::size_t elementBytes) const {
    return ranks > 2 || elementBytes == 1 ? std::min(whole, kLittleWhole) : whole;
  }
  // As `staged`, of data that goes one way: a rank that only posts seldom waits, as there is space for many operations of this size. Where a
  // long cycle is faster, it is not more than there is in areas.
  std::uint64_t mostStagedOneWay() const {
    return goesFar() ? std::max<std::uint64_t>(staged, mostInAreas()) : 4 * staged;
  }
  // Whether queues have wide slots, so that messages go through more memory before they write the first of it again. Among many ranks each goes through several queues anyway.
  bool widensSlots() const { return cycle > std::uint64_t{1} << 20; }
  // How data that is staged goes to a core, or comes from one, that is far or near.
  Handover handover(bool isFar) const {
    return !isFar ? Handover::kNearCache : streamFar != 0 ? Handover::kMemory : Handover::kFarCache;
  }
  bool reads(std::uint64_t message) const { return message >= readFrom && message < readUpTo; }
  bool readsBlock(std::uint64_t block, bool ofAllReduce) const {
    return ofAllReduce ? block >= reduceReadFrom && block < reduceReadUpTo
                       : block >= blockReadFrom && block < blockReadUpTo;
  }
  // Whether ranks whose cores are far, or near, begin by reading a message or a block, if they find out by themselves.
  bool beginsRead(std::uint64_t message, bool isFar) const {
    return reads(message) && holdsBetween(isFar, message);
  }
  bool beginsReadBlock(std::uint64_t block, bool ofAllReduce, bool isFar) const {
    return readsBlock(block, ofAllReduce) && holdsBetween(isFar, block);
  }
  // `cycle` was measured with two ranks. More of them read what all others stage, so together they go through as much.
  void shareCycle(std::size_t ranks) { cycle = std::max<std::uint64_t>(kLeastCycle, 2 * cycle / ranks); }
  // Messages and blocks of `least` bytes or more are read, whatever they did before; also those between what was read and `least`.
  void readAllFrom(std::uint64_t least);
  bool operator==(const CopyChoices&) const = default;

  // "NAME=BYTES", with a space in between, for all fields.
  std::string text() const;
  // The fields of `text`, with spaces or commas in between; others are those of `base`, but for sizes of which only one end is named: they go
  // from 0 on, or to the largest. Throws Error (ncclInvalidArgument) that names the field.
  static CopyChoices fromText(std::string_view text, const CopyChoices& base);
  static CopyChoices fromText(std::string_view text) { return fromText(text, CopyChoices()); }

 private:
  // Between near cores staging is faster, also of what is read between far ones; but not of much data, which takes about
  // as long in both ways.
  bool holdsBetween(bool isFar, std::uint64_t bytes) const {
    constexpr std::uint64_t kMuch = std::uint64_t{1} << 20;
    return isFar || far == 0 || bytes >= kMuch;
  }
};

// The choices where nothing has been measured.
CopyChoices usualChoices();

struct CopyChoiceField {
  std::string_view name;
  std::uint64_t CopyChoices::*value;
  std::uint64_t least, most;
};
std::span<const CopyChoiceField> copyChoiceFields();

}  // namespace xylem::transport
