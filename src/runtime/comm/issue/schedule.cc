#include "runtime/comm/issue/schedule.h"

#include <algorithm>

#include "planner/tuning/split.h"
#include "runtime/transport/collnet/coll_connection.h"

namespace xylem::comm {

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

class CollectiveScheduler {
 public:
  CollectiveScheduler(const Scheduling& scheduling, LaunchTask& launch)
      : scheduling_(scheduling), launch_(launch) {}

  // Adds collectives that become one exchange.
  void addBatch(std::span<const CommOperation* const> operations) {
    WorkItem& work = newWork(*operations.front(), 0);
    work.programs = 0;
    work.mailboxes = scheduling_.mailboxes;
    work.batched = operations.size();
    work.firstOfBatch = batched_;
    batched_ += operations.size();
    const int queue = launch_.channelQueue(0);
    for (const CommOperation* operation : operations)
      launch_.addToBatch(queue) = directWorkOf(*operation, scheduling_.ranks);
  }

  // Adds a collective that becomes an exchange.
  void addDirect(const CommOperation& operation) {
    WorkItem& work = newWork(operation, 0);
    work.programs = 0;
    work.mailboxes = scheduling_.mailboxes;
    work.exchange = directWorkOf(operation, scheduling_.ranks);
  }

  void addPrograms(const CommOperation& operation) {
    const ChosenAlgorithm& chosen = scheduling_.choices.of(operation);
    add(operation, chosen, {0, 0, operation.count, chosen.chunkBytes});
  }

  void add(const CommOperation& operation, const ChosenAlgorithm& chosen, const Part& part) {
    const std::size_t bytes = elementBytes(operation.type);
    const Function function = operation.function;
    const ChannelLinks& links = scheduling_.channels[static_cast<std::size_t>(part.channel)];
    const AlgorithmLinks& queues = links.of(function, chosen.algorithm);

    collectives::Shape shape;
    shape.ranks = scheduling_.ranks;
    shape.rank = scheduling_.rank;
    shape.position = links.position;
    shape.order = links.order.data();
    shape.root = operation.peer;
    const bool collnet = isCollnet(chosen.algorithm);
    shape.treePeers = collnet ? links.chainPeers : links.treePeers;
    shape.offset = part.offset;
    shape.count = part.count;
    shape.block = operation.count;
    shape.grain = kGrainBytes / bytes;
    shape.chunk = chunkElements(part.chunkBytes, chosen.protocol, bytes, shape.grain);
    shape.inPlace = isInPlace(operation, scheduling_.rank);
    const collectives::Reduction reduction = reductionOf(operation, scheduling_.ranks);
    shape.scales = reduction.scales;
    shape.exchange = scheduling_.ranks == 2 && scheduling_.choices.model().input.nodes == 2 &&
                     function == Function::kAllReduce && chosen.algorithm == Algorithm::kRing &&
                     part.count <= std::min(shape.chunk, kMaxExchangedBytesOfTwo / bytes);

    const std::span<const collectives::Program> programs =
        collectives::programsOf(function, chosen.algorithm);
    WorkItem& work = newWork(operation, part.channel);
    work.programs = static_cast<int>(programs.size());
    work.scratchBytes = collectives::scratchOf(function, chosen.algorithm, shape) * bytes;
    for (std::size_t i = 0; i < programs.size(); ++i)
      work.program[i] = {
          programs[i], shape,           {operation.send, operation.receive, nullptr}, queues.from, queues.to,
          reduction,   chosen.protocol, scheduling_.stepBytes[chosen.protocol]};
    // The first of an AllReduce's two programs goes up the chain, into the network.
    if (collnet) work.program[0].label = transport::reductionLabel(operation.type, operation.reduction.op);
  }

 private:
  WorkItem& newWork(const CommOperation& operation, int channel) {
    WorkItem& work = launch_.add(launch_.channelQueue(channel));
    work.function = operation.function;
    work.event = operation.event;
    work.channel = channel;
    work.scalarAddress = operation.reduction.scalarAddress;
    work.scalarBytes = elementBytes(operation.type);
    return work;
  }

  std::size_t chunkElements(std::int64_t planned, Protocol protocol, std::size_t bytes,
                            std::size_t grain) const {
    const auto most =
        static_cast<std::int64_t>(scheduling_.stepBytes[protocol] * collectives::kStepsPerChunk);
    const auto chunk = static_cast<std::size_t>(planned > 0 ? std::min(planned, most) : most) / bytes;
    return std::max(grain, chunk / grain * grain);
  }

  const Scheduling& scheduling_;
  LaunchTask& launch_;
  std::size_t batched_ = 0;  // operations added to batches
};

// An operation as the planner splits it over channels: in elements.
tuning::SplitTask taskOf(const CommOperation& operation, const ChosenAlgorithm& chosen) {
  return {operation.function,           chosen.algorithm, chosen.protocol, operation.count,
          elementBytes(operation.type), chosen.channels};
}

bool fitsBatch(const CommOperation& operation, int ranks) {
  return collectives::BatchedExchange::takes(
      operation.function, operation.count * elementBytes(operation.type), operation.reduction.scaled, ranks);
}

// Each collective becomes an exchange; consecutive ones that fit become one exchange together. Returns their
// bytes.
std::size_t scheduleExchanges(std::span<const CommOperation> operations, const Scheduling& scheduling,
                              LaunchTask& launch) {
  CollectiveScheduler scheduler(scheduling, launch);
  std::size_t bytes = 0;
  std::vector<const CommOperation*> batch;
  const auto close = [&] {
    if (batch.size() >= collectives::BatchedExchange::kMinWorks)
      scheduler.addBatch(batch);
    else
      for (const CommOperation* operation : batch) scheduler.addDirect(*operation);
    batch.clear();
  };
  for (const CommOperation& operation : operations) {
    if (!isBusyCollective(operation)) continue;
    bytes += operation.count * elementBytes(operation.type);
    const bool fits = fitsBatch(operation, scheduling.ranks);
    if (!fits || batch.size() == collectives::BatchedExchange::kMaxWorks) close();
    if (fits)
      batch.push_back(&operation);
    else
      scheduler.addDirect(operation);
  }
  close();
  return bytes;
}

void scheduleCollectives(std::span<const CommOperation> operations, int count, const Scheduling& scheduling,
                         LaunchTask& launch) {
  CollectiveScheduler scheduler(scheduling, launch);
  // A small collective alone, the usual case, uses one channel: there is nothing to split.
  if (count == 1) {
    const auto only = std::find_if(operations.begin(), operations.end(), isBusyCollective);
    const ChosenAlgorithm& chosen = scheduling.choices.of(*only);
    if (chosen.channels == 1) return scheduler.addPrograms(*only);
  }
  // The planner splits the collectives of the group together, so that all channels carry about the same. Each
  // collective covers a range of channels: its first and last one may carry less than those between.
  std::vector<tuning::SplitTask> tasks;
  std::vector<const CommOperation*> sources;
  std::vector<ChosenAlgorithm> ways;
  for (const CommOperation& operation : operations) {
    if (!isBusyCollective(operation)) continue;
    ways.push_back(scheduling.choices.of(operation, count));
    sources.push_back(&operation);
    tasks.push_back(taskOf(operation, ways.back()));
  }
  for (const tuning::Split& split : tuning::splitOverChannels(scheduling.choices.model(), tasks)) {
    std::size_t offset = 0;
    for (int channel = split.firstChannel; channel <= split.lastChannel; ++channel) {
      const tuning::SplitPiece& piece = channel == split.firstChannel  ? split.low
                                        : channel == split.lastChannel ? split.high
                                                                       : split.middle;
      // The plan may spread a collective over more channels than collectives use: these take turns.
      const int own = channel % scheduling.choices.channels();
      if (piece.count > 0)
        scheduler.add(*sources[split.task], ways[split.task], {own, offset, piece.count, piece.chunkBytes});
      offset += piece.count;
    }
  }
}

void scheduleTransfers(std::span<const CommOperation> operations, const Scheduling& scheduling,
                       LaunchTask& launch) {
  for (const TransferPart& part : scheduling.transfers.cut(operations)) {
    WorkItem& work = launch.add(launch.transferQueue(part.key));
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
                                    LaunchTask& launch) {
  const auto collectives =
      static_cast<int>(std::count_if(operations.begin(), operations.end(), isBusyCollective));
  const bool transfers = static_cast<std::size_t>(collectives) < operations.size();
  std::optional<std::size_t> exchanged;
  if (collectives > 0 && scheduling.mailboxes != nullptr)
    exchanged = scheduleExchanges(operations, scheduling, launch);
  else if (collectives > 0)
    scheduleCollectives(operations, collectives, scheduling, launch);
  if (!transfers) return exchanged;
  scheduleTransfers(operations, scheduling, launch);
  return std::nullopt;
}

}  // namespace xylem::comm
