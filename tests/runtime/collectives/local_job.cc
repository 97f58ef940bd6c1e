#include "runtime/collectives/local_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "runtime/collectives/wiring.h"
#include "runtime/transport/local/peer_memory.h"

namespace xylem::testing {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kUntouched{0x5a};
constexpr std::align_val_t kPage{4096};
constexpr std::size_t kMaxQueues = 8;  // of a rank, in each direction

// Both ends are in one address space.
class SameProcess final : public transport::PeerMemory {
 public:
  bool locate(const std::byte* data, std::size_t bytes, bool, transport::StepNote& note) override {
    note = {1, static_cast<std::uint32_t>(bytes), reinterpret_cast<std::uint64_t>(data)};
    return true;
  }
  const std::byte* reach(const transport::StepNote& note) override {
    return reinterpret_cast<const std::byte*>(note.address);
  }
  void read(const transport::StepNote& note, std::byte* out) override {
    std::memcpy(out, reach(note), note.bytes);
  }
};
SameProcess sameProcess;

transport::StepBytes stepsOf(std::size_t bytes) {
  transport::StepBytes steps{};
  for (const Protocol p : kAllProtocols) steps[p] = bytes;
  return steps;
}

}  // namespace

std::string LocalCase::describe() const {
  return std::string(name(collective)) + " " + name(algorithm) + " " + name(protocol) + " " +
         std::string(name(type)) + " op " + std::to_string(op) + " ranks " + std::to_string(ranks) +
         " root " + std::to_string(root) + " block " + std::to_string(block) + (inPlace ? " in place" : "") +
         " channels " + std::to_string(channels) + " step " + std::to_string(stepBytes) + " chunk " +
         std::to_string(chunkSteps) + " shift " + std::to_string(shift);
}

LocalQueue::LocalQueue(int writer, int reader, std::size_t stepBytes, bool byReference,
                       std::uint64_t firstStep) {
  const transport::StepBytes steps = stepsOf(stepBytes);
  bytes_ = transport::queueBytes(steps);
  memory_ = static_cast<std::byte*>(::operator new(bytes_, kPage));
  std::memset(memory_, 0, bytes_);
  const transport::QueueMemory queue = transport::queueIn(memory_, steps);
  transport::startAt(queue, firstStep);
  transport::PeerMemory* memory = byReference ? &sameProcess : nullptr;
  sender_ = std::make_unique<transport::SendEnd>(reader, queue, memory);
  receiver_ = std::make_unique<transport::RecvEnd>(writer, queue, memory);
}

LocalQueue::~LocalQueue() { ::operator delete(memory_, kPage); }

LocalJob::LocalJob(const LocalCase& c, std::mt19937& random)
    : case_(c),
      op_(c.type, c.op, c.ranks, random),
      ranks_(static_cast<std::size_t>(c.ranks)),
      executors_(static_cast<std::size_t>(c.ranks)) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    layOut(ranks_[r], r, random);
    before_.push_back(ranks_[r].memory);
  }
  const std::size_t slice = c.stepBytes / elementBytes(c.type);
  collectives::Shape part;
  part.ranks = c.ranks;
  part.root = c.root;
  part.block = c.block;
  part.inPlace = c.inPlace;
  part.overlaps = c.overlaps;
  part.chunk = slice * (c.chunkSteps > 0 ? c.chunkSteps : collectives::stepsPerChunk(c.collective, c.algorithm, c.overlaps));
  part.grain = std::min(part.chunk, 64 / elementBytes(c.type));
  part.chunk = part.chunk / part.grain * part.grain;
  std::vector<std::size_t> cuts{0, c.block};
  for (int i = 1; i < c.channels; ++i) cuts.push_back(random() % (c.block + 1));
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    part.offset = cuts[i];
    part.count = cuts[i + 1] - cuts[i];
    addChannel(part, random);
  }
}

std::size_t LocalJob::inputElements() const {
  return case_.collective == Collective::kReduceScatter ? ranks_.size() * case_.block : case_.block;
}
std::size_t LocalJob::outputElements() const {
  return case_.collective == Collective::kAllGather ? ranks_.size() * case_.block : case_.block;
}

void LocalJob::layOut(Rank& rank, std::size_t index, std::mt19937& random) {
  const std::size_t element = elementBytes(case_.type);
  const std::size_t input = inputElements() * element, output = outputElements() * element;
  rank.input = rank.output = kGuard + case_.shift;
  std::size_t end = rank.input + std::max(input, output) + kGuard;
  if (!case_.inPlace) {
    rank.output = end;
    end += output + kGuard;
  } else if (case_.collective == Collective::kAllGather) {
    rank.input += index * input;
  } else if (case_.collective == Collective::kReduceScatter) {
    rank.output += index * output;
  }
  rank.memory.assign(end, kUntouched);
  for (std::size_t at = 0; at < input; at += element)
    randomElement(case_.type, case_.op == static_cast<int>(ReduceOp::kProd), random,
                  &rank.memory[rank.input + at]);
}

void LocalJob::addChannel(const collectives::Shape& part, std::mt19937& random) {
  Channel& channel = channels_.emplace_back();
  const std::vector<int> parents = randomTree(case_.ranks, random);
  channel.order = shuffledRanks(case_.ranks, random);
  channel.from.resize(ranks_.size(), std::vector<transport::RecvEnd*>(kMaxQueues));
  channel.to.resize(ranks_.size(), std::vector<transport::SendEnd*>(kMaxQueues));
  std::vector<std::uint32_t> treePeers(ranks_.size());
  for (const Link& link : linksOf(case_.collective, case_.algorithm, channel.order, parents)) {
    LocalQueue& q = channel.queues.emplace_back(static_cast<int>(link.writer), static_cast<int>(link.reader),
                                                case_.stepBytes, case_.byReference, case_.firstStep);
    channel.to[link.writer][link.to] = &q.sender();
    channel.from[link.reader][link.from] = &q.receiver();
    treePeers[link.writer] |= collectives::queue(static_cast<int>(link.to));
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    collectives::Shape shape = part;
    shape.rank = channel.order[i];
    shape.position = static_cast<int>(i);
    shape.treePeers = treePeers[static_cast<std::size_t>(shape.rank)];
    startPrograms(channel, shape.rank, shape);
  }
}

void LocalJob::startPrograms(Channel& channel, int index, collectives::Shape shape) {
  const auto r = static_cast<std::size_t>(index);
  Rank& rank = ranks_[r];
  shape.order = channel.order.data();
  shape.scales = op_.reduction(index).scales;
  shape.exchange = case_.exchange && case_.collective == Collective::kAllReduce &&
                   case_.algorithm == Algorithm::kRing && shape.ranks == 2 && shape.count <= shape.chunk;
  Bytes& scratch = rank.scratch.emplace_back(
      collectives::scratchOf(case_.collective, case_.algorithm, shape) * elementBytes(case_.type));
  for (const collectives::Program& program : collectives::programsOf(case_.collective, case_.algorithm)) {
    const Part& part = parts_.emplace_back(Part{.rank = index,
                                                .work = {.program = program,
                                                         .shape = shape,
                                                         .buffers = {.input = &rank.memory[rank.input],
                                                                     .output = &rank.memory[rank.output],
                                                                     .scratch = scratch.data()},
                                                         .from = channel.from[r],
                                                         .to = channel.to[r],
                                                         .reduction = op_.reduction(index),
                                                         .protocol = case_.protocol}});
    executors_[r].emplace_back().start(part.work);
  }
}

std::string LocalJob::runInTurns(std::mt19937& random) {
  std::vector<collectives::ProgramExecutor*> open;
  for (auto& executors : executors_)
    for (collectives::ProgramExecutor& executor : executors) open.push_back(&executor);
  int idle = 0;
  while (!open.empty()) {
    const std::size_t i = random() % open.size();
    const device::Progress progress = open[i]->step();
    idle = progress == device::Progress::kWouldBlock ? idle + 1 : 0;
    if (progress == device::Progress::kDone) open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    if (idle > 20000) return "nobody can go on";
  }
  return "";
}

std::string LocalJob::runAsThreads() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(200);
  std::atomic<bool> late{false};
  std::vector<std::thread> threads;
  for (auto& executors : executors_)
    threads.emplace_back([&executors, &late, deadline] {
      std::vector<collectives::ProgramExecutor*> open;
      for (collectives::ProgramExecutor& executor : executors) open.push_back(&executor);
      while (!open.empty() && !late) {
        const std::size_t removed = std::erase_if(open, [](collectives::ProgramExecutor* executor) {
          return executor->step() == device::Progress::kDone;
        });
        if (removed == 0) std::this_thread::yield();
        if (std::chrono::steady_clock::now() > deadline) late = true;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return late ? "not done in time" : "";
}

std::vector<std::byte> LocalJob::output(int index) const {
  const Rank& rank = ranks_[static_cast<std::size_t>(index)];
  const auto start = rank.memory.begin() + static_cast<std::ptrdiff_t>(rank.output);
  return {start, start + static_cast<std::ptrdiff_t>(outputElements() * elementBytes(case_.type))};
}

std::string LocalJob::elementMismatch(std::size_t index, std::size_t i) const {
  const std::size_t element = elementBytes(case_.type);
  const std::byte* got = &ranks_[index].memory[ranks_[index].output + i * element];
  const auto input = [&](std::size_t rank, std::size_t at) {
    return &before_[rank][ranks_[rank].input + at * element];
  };
  if (case_.collective == Collective::kAllGather || case_.collective == Collective::kBroadcast) {
    const bool gathers = case_.collective == Collective::kAllGather;
    const std::byte* want =
        gathers ? input(i / case_.block, i % case_.block) : input(static_cast<std::size_t>(case_.root), i);
    return std::memcmp(got, want, element) == 0 ? "" : "not what was sent";
  }
  const std::size_t at = case_.collective == Collective::kReduceScatter ? index * case_.block + i : i;
  std::vector<const std::byte*> elements;
  for (std::size_t r = 0; r < ranks_.size(); ++r) elements.push_back(input(r, at));
  return op_.mismatch(got, elements);
}

std::string LocalJob::strayWrite() const {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const bool hasResult = case_.collective != Collective::kReduce || static_cast<int>(r) == case_.root;
    Bytes want = before_[r];
    if (hasResult) {
      const Bytes result = output(static_cast<int>(r));
      std::copy(result.begin(), result.end(), want.begin() + static_cast<std::ptrdiff_t>(ranks_[r].output));
    }
    if (want != ranks_[r].memory) return "rank " + std::to_string(r) + ": written beyond its results";
  }
  return "";
}

std::string LocalJob::mismatch() const {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (case_.collective == Collective::kReduce && static_cast<int>(r) != case_.root) continue;
    for (std::size_t i = 0; i < outputElements(); ++i)
      if (const std::string what = elementMismatch(r, i); !what.empty())
        return "rank " + std::to_string(r) + " element " + std::to_string(i) + ": " + what;
    if (case_.collective == Collective::kAllReduce && output(static_cast<int>(r)) != output(0))
      return "ranks have other bits";
  }
  return strayWrite();
}

}  // namespace xylem::testing
