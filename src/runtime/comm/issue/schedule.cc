#include "runtime/comm/issue/schedule.h"

#include <algorithm>

#include "planner/tuning/split.h"
#include "runtime/collectives/star.h"
#include "runtime/transport/collnet/coll_connection.h"

namespace xylem::comm {
namespace {

// Chunks start at multiples of a cache line, so that no two chunks share a line.
constexpr std::size_t kGrainBytes = 64;

// Up to this size, two ranks on different hosts send each other everything at once. Beyond it, adding and
// copying all elements on both sides costs more than the message that this saves.
constexpr std::size_t kMaxExchangedBytesOfTwo = std::size_t{64} << 10;

// A part of a collective: where in its buffers, and on which channel.
struct Part {
  int channel = 0;
  std::size_t offset = 0, count = 0;  // elements
  std::int64_t chunkBytes = 0;
};

bool isInPlace(const CommOperation& operation, int rank) {
  const std::size_t block = operation.count * elementBytes(operation.type) * static_cast<std::size_t>(rank);
  switch (operation.function) {
    case Function::kAllGather:
      return operation.send == operation.receive + block;
    case Function::kReduceScatter:
      return operation.receive == operation.send + block;
    default:
      return operation.send == operation.receive;
  }
}

// How elements are combined.
collectives::Reduction reductionOf(const CommOperation& operation, int ranks) {
  if (!reduces(operation.function)) return collectives::copyOf(operation.type);
  if (operation.reduction.scaled)
    return collectives::choosePreMulSum(operation.type, operation.reduction.scalar.data());
  return collectives::chooseReduction(operation.type, operation.reduction.op, ranks);
}

collectives::DirectWork directWorkOf(const CommOperation& operation, int ranks) {
  return {.function = operation.function,
          .input = operation.send,
          .output = operation.receive,
          .count = operation.count,
          .type = operation.type,
          .op = static_cast<std::uint8_t>(operation.reduction.op),
          .scaled = operation.reduction.scaled,
          .root = operation.peer,
          .reduction = reductionOf(operation, ranks)};
}

// Adds the items of a group's operations to the work of a launch.
class WorkMaker {
 public:
  WorkMaker(std::span<const CommOperation> operations, const Scheduling& scheduling, LaunchWork& work)
      : operations_(operations), scheduling_(scheduling), work_(work) {}

  // How many collectives are exchanges. `count`: how many collectives there are.
  int exchanges(int count) const {
    return static_cast<int>(std::count_if(operations_.begin(), operations_.end(),
                                          [&](const CommOperation& o) { return isExchange(o, count); }));
  }
  // Each of these becomes an exchange; consecutive ones that fit become one exchange together. Returns their
  // bytes.
  std::size_t addExchanges(int count);
  // All other collectives go over the queues of channels.
  void addCollectives(int count);
  void addTransfers();

 private:
  bool isExchange(const CommOperation& operation, int count) const {
    return comm::isExchange(operation, count, scheduling_);
  }

  ExchangePath& newExchange(const CommOperation& operation) {
    auto& path = newItem(operation, 0).path.emplace<ExchangePath>();
    path.mailboxes = scheduling_.mailboxes;
    return path;
  }

  void addExchange(const CommOperation& operation) {
    newExchange(operation).work = directWorkOf(operation, scheduling_.ranks);
  }

  // These collectives become one exchange if there are enough of them.
  void addBatch(std::span<const CommOperation* const> operations) {
    if (operations.size() < collectives::BatchedExchange::kMinWorks) {
      for (const CommOperation* operation : operations) addExchange(*operation);
      return;
    }
    ExchangeBatch& batch = work_.newBatch();
    for (const CommOperation* operation : operations) {
      batch.works.push_back(directWorkOf(*operation, scheduling_.ranks));
      batch.places.push_back(placeOf(*operation));
    }
    newExchange(*operations.front()).batch = &batch;
  }

  bool fitsBatch(const CommOperation& operation) const {
    return collectives::BatchedExchange::takes(operation.function,
                                               operation.count * elementBytes(operation.type),
                                               operation.reduction.scaled, scheduling_.ranks);
  }

  // The channels of the split share its elements evenly.
  void addTogether(const CommOperation& operation, const ChosenAlgorithm& chosen,
                   const tuning::Split& split) {
    const auto channels = static_cast<std::size_t>(split.lastChannel - split.firstChannel + 1);
    const std::size_t grain = kGrainBytes / elementBytes(operation.type);
    const std::size_t share = ((split.low.count + channels - 1) / channels + grain - 1) / grain * grain;
    std::size_t offset = 0;
    for (int channel = split.firstChannel; offset < split.low.count; ++channel) {
      const std::size_t count = std::min<std::size_t>(share, split.low.count - offset);
      addPrograms(operation, chosen,
                  {channel % scheduling_.choices.channels(), offset, count, split.low.chunkBytes});
      offset += count;
    }
  }

  // The item's path as programs, all of which the caller fills in. Clearing first what a launch before has left would take long.
  static ProgramPath& programPathOf(WorkItem& item) {
    auto* const known = std::get_if<ProgramPath>(&item.path);
    return known != nullptr ? *known : item.path.emplace<ProgramPath>();
  }

  void addPrograms(const CommOperation& operation, const ChosenAlgorithm& chosen, const Part& part) {
    const std::size_t bytes = elementBytes(operation.type);
    const Function function = operation.function;
    const ChannelLinks& links = scheduling_.channels[static_cast<std::size_t>(part.channel)];

    collectives::Shape shape;
    shape.ranks = scheduling_.ranks;
    shape.rank = scheduling_.rank;
    shape.position = links.position;
    shape.order = links.order.data();
    shape.root = operation.peer;
    shape.treePeers = chosen.algorithm == Algorithm::kCollnetChain ? links.chainPeers : links.treePeers;
    shape.offset = part.offset;
    shape.count = part.count;
    shape.block = operation.count;
    shape.grain = kGrainBytes / bytes;
    const auto chunkOf = [&](std::size_t steps) {
      return chunkElements(part.chunkBytes, steps * scheduling_.stepBytes[chosen.protocol], bytes,
                           shape.grain);
    };
    shape.overlaps = scheduling_.choices.model().input.nodes == 1;
    shape.chunk = chunkOf(collectives::stepsPerChunk(function, chosen.algorithm, shape.overlaps));
    const StarLinks* const star = links.stars[chosen.algorithm].get();
    if (star != nullptr) placeInStar(shape, *star, function, bytes);
    shape.inPlace = isInPlace(operation, scheduling_.rank);
    const collectives::Reduction reduction = reductionOf(operation, scheduling_.ranks);
    shape.scales = reduction.scales;
    shape.exchange =
        scheduling_.ranks == 2 && scheduling_.choices.model().input.nodes == 2 &&
        function == Function::kAllReduce && chosen.algorithm == Algorithm::kRing &&
        part.count <= std::min(chunkOf(collectives::kStepsPerChunk), kMaxExchangedBytesOfTwo / bytes);

    const std::span<const collectives::Program> programs =
        collectives::programsOf(function, chosen.algorithm);
    ProgramPath& path = programPathOf(newItem(operation, part.channel));
    path.programs = static_cast<int>(programs.size());
    path.scratchBytes = collectives::scratchOf(function, chosen.algorithm, shape) * bytes;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const QueueSpans queues = queuesOf(links, star, function, chosen.algorithm, programs[i].kind);
      path.program[i] = {
          programs[i], shape,           {operation.send, operation.receive, nullptr}, queues.from, queues.to,
          reduction,   chosen.protocol, scheduling_.stepBytes[chosen.protocol]};
      path.program[i].label = transport::networkLabel(function, operation.type, operation.reduction.op);
    }
  }

  struct QueueSpans {
    std::span<transport::RecvEnd* const> from;
    std::span<transport::SendEnd* const> to;
  };
  static QueueSpans queuesOf(const ChannelLinks& links, const StarLinks* star, Function function,
                             Algorithm algorithm, collectives::ProgramKind kind) {
    if (star == nullptr) {
      const AlgorithmLinks& queues = links.of(function, algorithm);
      return {queues.from, queues.to};
    }
    const collectives::StarQueues uses = collectives::starQueues(kind);
    return {(uses.readsContributions ? star->contributions : star->results).from,
            (uses.writesContributions ? star->contributions : star->results).to};
  }

  void placeInStar(collectives::Shape& shape, const StarLinks& star, Function function,
                   std::size_t bytes) const {
    shape.treePeers = star.peers;
    shape.members = star.members;
    shape.member = star.member;
    shape.head = star.head;
    shape.heads = static_cast<int>(star.headMembers.size());
    shape.headMembers = star.headMembers.data();
    shape.hosts = star.hosts;
    shape.grid = star.grid.data();
    // A network that gathers or scatters does so step by step.
    const std::size_t step = scheduling_.stepBytes[Protocol::kSimple] / bytes;
    if (function != Function::kAllReduce && star.hosts > 1) shape.chunk = std::min(shape.chunk, step);
  }

  std::size_t placeOf(const CommOperation& operation) const {
    return static_cast<std::size_t>(&operation - operations_.data());
  }
  // An item in the queue of a channel; the caller fills in its path.
  WorkItem& newItem(const CommOperation& operation, int channel) {
    WorkItem& item = work_.add(work_.channelQueue(channel));
    item.function = operation.function;
    item.place = placeOf(operation);
    item.channel = channel;
    item.scalarAddress = operation.reduction.scalarAddress;
    item.scalarBytes = elementBytes(operation.type);
    return item;
  }

  // The elements of a chunk as planned, of at most `mostBytes`.
  static std::size_t chunkElements(std::int64_t planned, std::size_t mostBytes, std::size_t bytes,
                                   std::size_t grain) {
    const std::size_t chunk =
        (planned > 0 ? std::min(static_cast<std::size_t>(planned), mostBytes) : mostBytes) / bytes;
    return std::max(grain, chunk / grain * grain);
  }

  const std::span<const CommOperation> operations_;
  const Scheduling& scheduling_;
  LaunchWork& work_;
};

std::size_t WorkMaker::addExchanges(int count) {
  std::size_t bytes = 0;
  // A group too small for a batch needs no list.
  const bool batches = operations_.size() >= collectives::BatchedExchange::kMinWorks;
  std::vector<const CommOperation*> batch;
  const auto close = [&] {
    addBatch(batch);
    batch.clear();
  };
  for (const CommOperation& operation : operations_) {
    if (!isExchange(operation, count)) continue;
    bytes += operation.count * elementBytes(operation.type);
    const bool fits = batches && fitsBatch(operation);
    if (!fits || batch.size() == collectives::BatchedExchange::kMaxWorks) close();
    if (fits)
      batch.push_back(&operation);
    else
      addExchange(operation);
  }
  close();
  return bytes;
}

void WorkMaker::addCollectives(int count) {
  // A small collective alone, the usual case, uses one channel: there is nothing to split.
  if (count == 1) {
    const auto only = std::find_if(operations_.begin(), operations_.end(), isBusyCollective);
    const ChosenAlgorithm& chosen = scheduling_.choices.of(*only);
    if (chosen.channels == 1) return addPrograms(*only, chosen, {0, 0, only->count, chosen.chunkBytes});
  }
  // The planner splits the collectives of the group together, so that all channels carry about the same. Each
  // collective covers a range of channels: its first and last one may carry less than those between.
  std::vector<tuning::SplitTask> tasks;
  std::vector<const CommOperation*> sources;
  std::vector<ChosenAlgorithm> ways;
  for (const CommOperation& operation : operations_) {
    if (!isBusyCollective(operation) || isExchange(operation, count)) continue;
    ways.push_back(scheduling_.choices.of(operation, count));
    sources.push_back(&operation);
    tasks.push_back(taskOf(operation, ways.back()));
  }
  for (const tuning::Split& split : tuning::splitOverChannels(scheduling_.choices.model(), tasks)) {
    if (split.together) {
      addTogether(*sources[split.task], ways[split.task], split);
      continue;
    }
    std::size_t offset = 0;
    for (int channel = split.firstChannel; channel <= split.lastChannel; ++channel) {
      const tuning::SplitPiece& piece = channel == split.firstChannel  ? split.low
                                        : channel == split.lastChannel ? split.high
                                                                       : split.middle;
      // The plan may spread a collective over more channels than collectives use: these take turns.
      const int own = channel % scheduling_.choices.channels();
      if (piece.count > 0)
        addPrograms(*sources[split.task], ways[split.task], {own, offset, piece.count, piece.chunkBytes});
      offset += piece.count;
    }
  }
}

void WorkMaker::addTransfers() {
  const std::span<const TransferPart> parts = scheduling_.transfers.cut(operations_);
  for (const TransferPart& part : parts) {
    const CommOperation& operation = operations_[part.place];
    WorkItem& item =
        work_.add(scheduling_.transfers.apart() ? work_.newQueue() : work_.transferQueue(part.key));
    item.function = operation.function;
    item.path = part.path;
    item.place = part.place;
    item.channel = part.path.queue;
    if (scheduling_.checked && part.path.connection != nullptr && part.path.queue == 0)
      item.checked = CheckedCall{scheduling_.rank, signatureOf(operation)};
  }
}

}  // namespace

bool isExchange(const CommOperation& operation, int collectives, const Scheduling& scheduling) {
  return isBusyCollective(operation) && scheduling.mailboxes != nullptr &&
         (!scheduling.onlyNvls ||
          scheduling.choices.of(operation, collectives).algorithm == Algorithm::kNvls);
}

tuning::SplitTask taskOf(const CommOperation& operation, const ChosenAlgorithm& chosen) {
  return {operation.function,           chosen.algorithm, chosen.protocol, operation.count,
          elementBytes(operation.type), chosen.channels};
}

std::size_t schedule(std::span<const CommOperation> operations, const Scheduling& scheduling,
                     LaunchWork& work) {
  work.clear();
  WorkMaker maker(operations, scheduling, work);
  const auto collectives =
      static_cast<int>(std::count_if(operations.begin(), operations.end(), isBusyCollective));
  const bool transfers = static_cast<std::size_t>(collectives) < operations.size();
  const int exchanges = scheduling.mailboxes == nullptr ? 0 : maker.exchanges(collectives);
  const std::size_t exchanged = exchanges > 0 ? maker.addExchanges(collectives) : 0;
  if (collectives > exchanges) maker.addCollectives(collectives);
  if (transfers) maker.addTransfers();
  return !transfers && collectives == exchanges ? exchanged : kNotExchanged;
}

}  // namespace xylem::comm
