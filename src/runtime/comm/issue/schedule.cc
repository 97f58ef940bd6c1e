#include "runtime/comm/issue/schedule.h"

#include <algorithm>

#include "runtime/comm/issue/direct_work.h"
#include "runtime/transport/collnet/coll_pump.h"
#include "planner/tuning/split.h"

namespace xylem {
namespace {

// Chunks start at multiples of a cache line, so that no line is written by two ranks' turns.
constexpr std::size_t kGrainBytes = 64;

// Between two ranks on different hosts, up to this both send everything at once: beyond it, what they add
// twice and copy costs as much as a message takes.
constexpr std::size_t kMostExchanged = std::size_t{64} << 10;

// Where on which channel.
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

class CollectiveScheduler {
 public:
  CollectiveScheduler(const Scheduling& scheduling, Launch& launch)
      : scheduling_(scheduling), launch_(launch) {}

  // All of these, in one exchange.
  void addBatch(std::span<const CommOperation* const> operations) {
    Work& work = newWork(*operations.front(), 0);
    work.lanes = 0;
    work.boards = scheduling_.boards;
    work.batched = operations.size();
    work.firstOfBatch = batched_;
    batched_ += operations.size();
    const int track = launch_.channelTrack(0);
    for (const CommOperation* operation : operations)
      launch_.addToBatch(track) = directWorkOf(*operation, scheduling_.ranks);
  }

  // All of it, in one exchange.
  void addDirect(const CommOperation& operation) {
    Work& work = newWork(operation, 0);
    work.lanes = 0;
    work.boards = scheduling_.boards;
    work.exchange = directWorkOf(operation, scheduling_.ranks);
  }

  void addLanes(const CommOperation& operation) {
    const ChosenWay& way = scheduling_.choices.of(operation);
    add(operation, way, {0, 0, operation.count, way.chunkBytes});
  }

  void add(const CommOperation& operation, const ChosenWay& way, const Part& part) {
    const std::size_t bytes = elementBytes(operation.type);
    const Collective collective = collectiveOf(operation.function);
    const ChannelLinks& links = scheduling_.channels[static_cast<std::size_t>(part.channel)];
    const AlgorithmLinks& queues = links.of(collective, way.algorithm);

    Shape shape;
    shape.ranks = scheduling_.ranks;
    shape.rank = scheduling_.rank;
    shape.position = links.position;
    shape.order = links.order.data();
    shape.root = operation.peer;
    const bool collnet = isCollnet(way.algorithm);
    shape.treePeers = collnet ? links.chainPeers : links.treePeers;
    shape.offset = part.offset;
    shape.count = part.count;
    shape.block = operation.count;
    shape.grain = kGrainBytes / bytes;
    shape.chunk = chunkElements(part.chunkBytes, way.protocol, bytes, shape.grain);
    shape.inPlace = isInPlace(operation, scheduling_.rank);
    const Reduction reduction = reductionOf(operation, scheduling_.ranks);
    shape.scales = reduction.scales;
    shape.exchange = scheduling_.ranks == 2 && scheduling_.choices.model().input.nodes == 2 &&
                     collective == Collective::kAllReduce && way.algorithm == Algorithm::kRing &&
                     part.count <= std::min(shape.chunk, kMostExchanged / bytes);

    const std::span<const Program> programs = programsOf(collective, way.algorithm);
    Work& work = newWork(operation, part.channel);
    work.lanes = static_cast<int>(programs.size());
    work.scratchBytes = scratchOf(collective, way.algorithm, shape) * bytes;
    for (std::size_t i = 0; i < programs.size(); ++i)
      work.lane[i] = {
          programs[i], shape,        {operation.send, operation.receive, nullptr}, queues.from, queues.to,
          reduction,   way.protocol, scheduling_.stepBytes[way.protocol]};
    // Of an AllReduce's two programs the first one goes up.
    if (collnet) work.lane[0].label = reductionLabel(operation.type, operation.reduction.op);
  }

 private:
  Work& newWork(const CommOperation& operation, int channel) {
    Work& work = launch_.add(launch_.channelTrack(channel));
    work.function = operation.function;
    work.event = operation.event;
    work.channel = channel;
    work.scalarAddress = operation.reduction.scalarAddress;
    work.scalarBytes = elementBytes(operation.type);
    return work;
  }

  std::size_t chunkElements(std::int64_t planned, Protocol protocol, std::size_t bytes,
                            std::size_t grain) const {
    const auto most = static_cast<std::int64_t>(scheduling_.stepBytes[protocol] * kStepsPerChunk);
    const auto chunk = static_cast<std::size_t>(planned > 0 ? std::min(planned, most) : most) / bytes;
    return std::max(grain, chunk / grain * grain);
  }

  const Scheduling& scheduling_;
  Launch& launch_;
  std::size_t batched_ = 0;  // operations in batches so far
};

// Collectives of no elements are over at once; they neither get a channel nor count among the others.
bool isWorkOfCollective(const CommOperation& operation) {
  return !isPointToPoint(operation.function) && operation.count > 0;
}

// The elements that a split counts.
SplitTask taskOf(const CommOperation& operation, const ChosenWay& way) {
  return {collectiveOf(operation.function), way.algorithm, way.protocol, operation.count,
          elementBytes(operation.type),     way.channels};
}

bool fitsBatch(const CommOperation& operation, int ranks) {
  return DirectBatch::takes(directKindOf(operation.function), operation.count * elementBytes(operation.type),
                            operation.reduction.scaled, ranks);
}

// One exchange each, but those that follow each other and fit all at once. Returns the bytes of all.
std::size_t scheduleExchanges(std::span<const CommOperation> operations, const Scheduling& scheduling,
                              Launch& launch) {
  CollectiveScheduler scheduler(scheduling, launch);
  std::size_t bytes = 0;
  std::vector<const CommOperation*> batch;
  const auto close = [&] {
    if (batch.size() >= DirectBatch::kLeastWorks)
      scheduler.addBatch(batch);
    else
      for (const CommOperation* operation : batch) scheduler.addDirect(*operation);
    batch.clear();
  };
  for (const CommOperation& operation : operations) {
    if (!isWorkOfCollective(operation)) continue;
    bytes += operation.count * elementBytes(operation.type);
    const bool fits = fitsBatch(operation, scheduling.ranks);
    if (!fits || batch.size() == DirectBatch::kMostWorks) close();
    if (fits)
      batch.push_back(&operation);
    else
      scheduler.addDirect(operation);
  }
  close();
  return bytes;
}

void scheduleCollectives(std::span<const CommOperation> operations, int count, const Scheduling& scheduling,
                         Launch& launch) {
  CollectiveScheduler scheduler(scheduling, launch);
  if (count == 1) {
    const auto only = std::find_if(operations.begin(), operations.end(), isWorkOfCollective);
    const ChosenWay& way = scheduling.choices.of(*only);
    if (way.channels == 1) return scheduler.addLanes(*only);
  }
  std::vector<SplitTask> tasks;
  std::vector<const CommOperation*> sources;
  std::vector<ChosenWay> ways;
  for (const CommOperation& operation : operations) {
    if (!isWorkOfCollective(operation)) continue;
    ways.push_back(scheduling.choices.of(operation, count));
    sources.push_back(&operation);
    tasks.push_back(taskOf(operation, ways.back()));
  }
  for (const Split& split : splitOverChannels(scheduling.choices.model(), tasks)) {
    std::size_t offset = 0;
    for (int channel = split.firstChannel; channel <= split.lastChannel; ++channel) {
      const SplitPiece& piece = channel == split.firstChannel  ? split.low
                                : channel == split.lastChannel ? split.high
                                                               : split.middle;
      // The channels that collectives use take turns with what the plan spreads over more.
      const int own = channel % scheduling.choices.channels();
      if (piece.count > 0)
        scheduler.add(*sources[split.task], ways[split.task], {own, offset, piece.count, piece.chunkBytes});
      offset += piece.count;
    }
  }
}

void scheduleTransfers(std::span<const CommOperation> operations, const Scheduling& scheduling,
                       Launch& launch) {
  for (const TransferPart& part : scheduling.transfers.cut(operations)) {
    Work& work = launch.add(launch.transferTrack(part.key));
    work.function = part.operation->function;
    work.transfer = part;
    work.event = part.operation->event;
    work.channel = part.queue;
    work.checked = scheduling.checked && part.connection != nullptr && part.queue == 0;
    if (work.checked) work.call = signatureOf(*part.operation);
  }
}

}  // namespace

std::optional<std::size_t> schedule(std::span<const CommOperation> operations, const Scheduling& scheduling,
                                    Launch& launch) {
  const auto collectives =
      static_cast<int>(std::count_if(operations.begin(), operations.end(), isWorkOfCollective));
  const bool transfers = static_cast<std::size_t>(collectives) < operations.size();
  std::optional<std::size_t> exchanged;
  if (collectives > 0 && scheduling.boards != nullptr)
    exchanged = scheduleExchanges(operations, scheduling, launch);
  else if (collectives > 0)
    scheduleCollectives(operations, collectives, scheduling, launch);
  if (!transfers) return exchanged;
  scheduleTransfers(operations, scheduling, launch);
  return std::nullopt;
}

}  // namespace xylem
