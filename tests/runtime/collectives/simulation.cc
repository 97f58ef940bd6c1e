#include "runtime/collectives/simulation.h"

#include <algorithm>

#include "runtime/collectives/wiring.h"

namespace xylem::testing {
namespace {

// Elements between buffers, which show writes beyond them.
constexpr std::size_t kGuardBytes = 5;

}  // namespace

std::string SimulatedJob::describe() const {
  return std::string(name(collective)) + " " + name(algorithm) + " ranks " + std::to_string(ranks) +
         " root " + std::to_string(root) + (inPlace ? " in place" : "") + (exchange ? " exchange" : "") + (overlaps ? " overlaps" : "") +
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
    collectives::Shape part;
    part.ranks = job.ranks;
    part.root = job.root;
    part.offset = cuts[c];
    part.count = cuts[c + 1] - cuts[c];
    part.block = job.block;
    part.chunk = job.chunk;
    part.grain = job.grain;
    part.inPlace = job.inPlace;
    part.scales = job.scales;
    part.overlaps = job.overlaps;
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

void Simulation::addChannel(const collectives::Shape& part, std::mt19937& random) {
  const auto programs = collectives::programsOf(job_.collective, job_.algorithm);
  const std::vector<int>& order = orders_.emplace_back(shuffledRanks(job_.ranks, random));
  const std::vector<int> parents = randomTree(job_.ranks, random);
  std::vector<Run> runs;
  for (int r = 0; r < job_.ranks; ++r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    collectives::Shape shape = part;
    shape.rank = r;
    shape.position = static_cast<int>(std::find(order.begin(), order.end(), r) - order.begin());
    shape.order = order.data();
    const std::size_t scratch = rank.memory.size() - rank.scratch;
    for (const collectives::Program& program : programs)
      runs.push_back(
          {program, shape, scratch, std::vector<Queue*>(32), std::vector<Queue*>(32), 0, 0, 0, {}, 0});
    rank.memory.resize(rank.memory.size() + collectives::scratchOf(job_.collective, job_.algorithm, shape));
  }
  for (const Link& link : linksOf(job_.collective, job_.algorithm, order, parents)) {
    Queue* queue = &queues_.emplace_back();
    for (std::size_t p = 0; p < programs.size(); ++p) {
      Run& writer = runs[link.writer * programs.size() + p];
      writer.to[link.to] = queue;
      writer.shape.treePeers |= xylem::collectives::queue(static_cast<int>(link.to));
      runs[link.reader * programs.size() + p].from[link.from] = queue;
    }
  }
  runs_.insert(runs_.end(), runs.begin(), runs.end());
}

bool Simulation::load(Run& run) {
  while (run.done == run.now.count) {
    if (run.index == run.length) return false;
    run.now = run.program.at(run.shape, run.index++);
    run.done = 0;
    if (run.now.count > job_.chunk) fail("an instruction longer than a chunk");
  }
  return true;
}

bool Simulation::advance(Run& run) {
  for (int q = 0; q < 32; ++q) {
    const auto i = static_cast<std::size_t>(q);
    if ((run.now.from & collectives::queue(q)) != 0 && run.from[i]->empty()) return false;
    if ((run.now.to & collectives::queue(q)) != 0 && run.to[i]->size() >= job_.queueSteps) return false;
  }
  execute(run, std::min(job_.step, run.now.count - run.done));
  return true;
}

std::string Simulation::run(std::mt19937& random) {
  std::vector<Run*> open;
  for (Run& run : runs_) {
    run.length = run.program.length(run.shape);
    if (load(run)) open.push_back(&run);
  }
  // In some runs each program goes on as far as possible, which fills and empties queues.
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

// The effect of a step on the symbols, and the check of the results.

std::size_t Simulation::address(const Run& run, const collectives::Place& place) const {
  const Rank& rank = ranks_[static_cast<std::size_t>(run.shape.rank)];
  const std::size_t start = place.buffer == collectives::Buffer::kInput    ? rank.input
                            : place.buffer == collectives::Buffer::kOutput ? rank.output
                                                                           : rank.scratch + run.scratch;
  return start + place.offset + run.done;
}

Simulation::Value Simulation::entered(const collectives::Place& place, Value v) {
  if (v.element < 0) fail("an element is used before it is there");
  if ((place.buffer == collectives::Buffer::kInput) != v.raw)
    fail("an element is used that is not what it should be");
  v.raw = false;
  return v;
}

Simulation::Value Simulation::combined(const Value& a, const Value& b) {
  if (a.element != b.element) fail("different elements are combined");
  if ((a.ranks & b.ranks) != 0) fail("a contribution is there twice");
  if (a.complete || b.complete) fail("a complete result is combined with more");
  return {a.element, a.ranks | b.ranks, false, false};
}

Simulation::Values Simulation::received(Run& run, Queue& queue, std::size_t n) {
  Step step = std::move(queue.front());
  queue.pop_front();
  run.hops = std::max(run.hops, step.hops);
  hops_ = std::max(hops_, run.hops);
  if (step.values.size() != n) fail("the ends of a queue disagree about the length of a step");
  step.values.resize(n);
  if (step.sharedBy >= 0) {
    const Values& memory = ranks_[static_cast<std::size_t>(step.sharedBy)].memory;
    if (!std::equal(step.snapshot.begin(), step.snapshot.end(),
                    memory.begin() + static_cast<std::ptrdiff_t>(step.address)))
      fail("what was sent by reference changed before it was received");
  }
  return step.values;
}

void Simulation::execute(Run& run, std::size_t n) {
  const collectives::Instruction& now = run.now;
  Rank& rank = ranks_[static_cast<std::size_t>(run.shape.rank)];
  Values values;
  Step step;
  if (now.own) {
    const auto own = rank.memory.begin() + static_cast<std::ptrdiff_t>(address(run, now.own));
    values.assign(own, own + static_cast<std::ptrdiff_t>(n));
    for (Value& v : values) v = entered(now.own, v);
  }
  for (int q = 0; q < 32; ++q) {
    if ((now.from & collectives::queue(q)) == 0) continue;
    const Values incoming = received(run, *run.from[static_cast<std::size_t>(q)], n);
    if (values.empty()) values.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      values[i] = values[i].element < 0 ? incoming[i] : combined(values[i], incoming[i]);
  }
  for (Value& v : values) v.complete = v.complete || now.finish;
  // Like a ProgramExecutor: by reference from where the value lies, unless that is scratch.
  step.values = values;
  if (now.out) write(run, values);
  const collectives::Place at = now.from == 0 ? now.own : now.out;
  if (at && at.buffer != collectives::Buffer::kScratch && !now.changes) {
    step.sharedBy = run.shape.rank;
    step.address = address(run, at);
    const auto start = rank.memory.begin() + static_cast<std::ptrdiff_t>(step.address);
    step.snapshot.assign(start, start + static_cast<std::ptrdiff_t>(n));
  }
  step.hops = run.hops + 1;
  for (int q = 0; q < 32; ++q) {
    if ((now.to & collectives::queue(q)) == 0) continue;
    run.to[static_cast<std::size_t>(q)]->push_back(step);
    moved_ += n;
  }
  run.done += n;
}

void Simulation::write(const Run& run, const Values& values) {
  Rank& rank = ranks_[static_cast<std::size_t>(run.shape.rank)];
  if (run.now.out.buffer == collectives::Buffer::kInput) fail("the input is written to");
  const std::size_t start = address(run, run.now.out);
  if (start + values.size() > rank.memory.size()) return fail("a write beyond all buffers");
  std::copy(values.begin(), values.end(), rank.memory.begin() + static_cast<std::ptrdiff_t>(start));
}

bool Simulation::reduces() const {
  return job_.collective != Collective::kAllGather && job_.collective != Collective::kBroadcast;
}

Simulation::Value Simulation::expected(int rank, std::size_t i) const {
  const std::uint32_t all = (std::uint32_t{1} << job_.ranks) - 1;
  const bool complete = job_.ranks > 1;
  const auto element = static_cast<int>(i);
  switch (job_.collective) {
    case Collective::kBroadcast:
      return {element, std::uint32_t{1} << job_.root, false, false};
    case Collective::kAllGather:
      return {element, std::uint32_t{1} << (i / job_.block), false, false};
    case Collective::kReduceScatter:
      return {element + rank * static_cast<int>(job_.block), all, false, complete};
    case Collective::kReduce:
    case Collective::kAllReduce:
      return {element, all, false, complete};
    default:
      return {};
  }
}

// Outside of the results, no element has changed.
void Simulation::expectResults() {
  for (int r = 0; r < job_.ranks; ++r) {
    const Rank& rank = ranks_[static_cast<std::size_t>(r)];
    Values want = before_[static_cast<std::size_t>(r)];
    Values got = rank.memory;
    if (job_.collective != Collective::kReduce || r == job_.root)
      for (std::size_t i = 0; i < outputSize(); ++i) {
        want[rank.output + i] = expected(r, i);
        // A rank's own block may be left as it was.
        if (!reduces()) got[rank.output + i].raw = false;
      }
    for (std::size_t i = 0; i < rank.scratch; ++i)
      if (want[i] != got[i])
        return fail("rank " + std::to_string(r) + " has a wrong element at " + std::to_string(i) + ": " +
                    std::to_string(got[i].element) + " of " + std::to_string(got[i].ranks));
  }
}

}  // namespace xylem::testing
