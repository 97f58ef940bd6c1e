#include "runtime/collectives/simulation.h"

#include <algorithm>

#include "runtime/collectives/wiring.h"

namespace xylem::testing {
namespace {

// Between buffers, to see what is written beyond them.
constexpr std::size_t kGuardBytes = 5;

}  // namespace

std::string SimulatedJob::describe() const {
  return std::string(name(collective)) + " " + name(algorithm) + " ranks " + std::to_string(ranks) +
         " root " + std::to_string(root) + (inPlace ? " in place" : "") + (exchange ? " exchange" : "") +
         " block " + std::to_string(block) + " channels " + std::to_string(channels) + " chunk " +
         std::to_string(chunk) + " grain " + std::to_string(grain) + " step " + std::to_string(step) +
         " queue " + std::to_string(queueSteps);
}

Simulation::Simulation(const SimulatedJob& job, std::mt19937& random)
    : job_(job), ranks_(static_cast<std::size_t>(job.ranks)) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) layOut(ranks_[r], static_cast<int>(r));
  std::vector<std::size_t> cuts{0, job.block};
  for (int c = 1; c < job.channels; ++c) cuts.push_back(random() % (job.block + 1));
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    Shape part;
    part.ranks = job.ranks;
    part.root = job.root;
    part.offset = cuts[c];
    part.count = cuts[c + 1] - cuts[c];
    part.block = job.block;
    part.chunk = job.chunk;
    part.grain = job.grain;
    part.inPlace = job.inPlace;
    part.scales = job.scales;
    part.exchange = job.exchange && job.ranks == 2 && part.count <= part.chunk;
    addChannel(part, random);
  }
  for (const Rank& rank : ranks_) before_.push_back(rank.memory);
}

std::size_t Simulation::outputSize() const {
  const std::size_t n = ranks_.size();
  return job_.collective == Collective::kAllGather ? n * job_.block : job_.block;
}

void Simulation::layOut(Rank& rank, int index) const {
  const auto r = static_cast<std::size_t>(index);
  const bool scatters = job_.collective == Collective::kReduceScatter;
  const bool gathers = job_.collective == Collective::kAllGather;
  const std::size_t inputSize = scatters ? ranks_.size() * job_.block : job_.block;
  rank.input = rank.output = kGuardBytes;
  std::size_t end = kGuardBytes + std::max(inputSize, outputSize()) + kGuardBytes;
  if (!job_.inPlace) {
    rank.output = end;
    end += outputSize() + kGuardBytes;
  } else if (gathers) {
    rank.input += r * job_.block;
  } else if (scatters) {
    rank.output += r * job_.block;
  }
  rank.scratch = end;
  rank.memory.resize(end);
  for (std::size_t i = 0; i < inputSize; ++i) {
    const std::size_t element = gathers ? r * job_.block + i : i;
    rank.memory[rank.input + i] = {static_cast<int>(element), std::uint32_t{1} << r, true, false};
  }
}

void Simulation::addChannel(const Shape& part, std::mt19937& random) {
  const auto programs = programsOf(job_.collective, job_.algorithm);
  const std::vector<int>& order = orders_.emplace_back(shuffledRanks(job_.ranks, random));
  const std::vector<int> parents = randomTree(job_.ranks, random);
  std::vector<Lane> lanes;
  for (int r = 0; r < job_.ranks; ++r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    Shape shape = part;
    shape.rank = r;
    shape.position = static_cast<int>(std::find(order.begin(), order.end(), r) - order.begin());
    shape.order = order.data();
    const std::size_t scratch = rank.memory.size() - rank.scratch;
    for (const Program& program : programs)
      lanes.push_back(
          {program, shape, scratch, std::vector<Queue*>(32), std::vector<Queue*>(32), 0, 0, 0, {}, 0});
    rank.memory.resize(rank.memory.size() + scratchOf(job_.collective, job_.algorithm, shape));
  }
  for (const Link& link : linksOf(job_.collective, job_.algorithm, order, parents)) {
    Queue* queue = &queues_.emplace_back();
    for (std::size_t p = 0; p < programs.size(); ++p) {
      Lane& writer = lanes[link.writer * programs.size() + p];
      writer.to[link.to] = queue;
      writer.shape.treePeers |= xylem::queue(static_cast<int>(link.to));
      lanes[link.reader * programs.size() + p].from[link.from] = queue;
    }
  }
  lanes_.insert(lanes_.end(), lanes.begin(), lanes.end());
}

bool Simulation::load(Lane& lane) {
  while (lane.done == lane.now.count) {
    if (lane.index == lane.length) return false;
    lane.now = lane.program.at(lane.shape, lane.index++);
    lane.done = 0;
    if (lane.now.count > job_.chunk) fail("an instruction longer than a chunk");
  }
  return true;
}

bool Simulation::advance(Lane& lane) {
  for (int q = 0; q < 32; ++q) {
    const auto i = static_cast<std::size_t>(q);
    if ((lane.now.from & queue(q)) != 0 && lane.from[i]->empty()) return false;
    if ((lane.now.to & queue(q)) != 0 && lane.to[i]->size() >= job_.queueSteps) return false;
  }
  execute(lane, std::min(job_.step, lane.now.count - lane.done));
  return true;
}

std::string Simulation::run(std::mt19937& random) {
  std::vector<Lane*> open;
  for (Lane& lane : lanes_) {
    lane.length = lane.program.length(lane.shape);
    if (load(lane)) open.push_back(&lane);
  }
  // Some runs let whoever can go on do so as far as possible, which fills and empties queues.
  const bool greedy = random() % 2 == 0;
  while (!open.empty() && error_.empty()) {
    const std::size_t start = random() % open.size();
    std::size_t tried = 0;
    while (tried < open.size() && !advance(*open[(start + tried) % open.size()])) ++tried;
    if (tried == open.size()) return "nobody can go on";
    const std::size_t chosen = (start + tried) % open.size();
    bool more = load(*open[chosen]);
    while (greedy && more && error_.empty() && advance(*open[chosen])) more = load(*open[chosen]);
    if (!more) open.erase(open.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  for (const Queue& queue : queues_)
    if (!queue.empty()) fail("something was sent that nobody received");
  if (error_.empty()) expectResults();
  return error_;
}

void Simulation::fail(const std::string& what) {
  if (error_.empty()) error_ = what;
}

}  // namespace xylem::testing
