// What a step of a simulation does to the symbols, and what they have to be in the end.

#include <algorithm>

#include "runtime/collectives/simulation.h"

namespace xylem::testing {

std::size_t Simulation::address(const Lane& lane, const Place& place) const {
  const Rank& rank = ranks_[static_cast<std::size_t>(lane.shape.rank)];
  const std::size_t start = place.buffer == Buffer::kInput    ? rank.input
                            : place.buffer == Buffer::kOutput ? rank.output
                                                              : rank.scratch + lane.scratch;
  return start + place.offset + lane.done;
}

Simulation::Value Simulation::entered(const Place& place, Value v) {
  if (v.element < 0) fail("an element is used before it is there");
  if ((place.buffer == Buffer::kInput) != v.raw) fail("an element is used that is not what it should be");
  v.raw = false;
  return v;
}

Simulation::Value Simulation::combined(const Value& a, const Value& b) {
  if (a.element != b.element) fail("different elements are combined");
  if ((a.ranks & b.ranks) != 0) fail("a contribution is there twice");
  if (a.complete || b.complete) fail("a complete result is combined with more");
  return {a.element, a.ranks | b.ranks, false, false};
}

Simulation::Values Simulation::received(Lane& lane, Queue& queue, std::size_t n) {
  Step step = std::move(queue.front());
  queue.pop_front();
  lane.hops = std::max(lane.hops, step.hops);
  hops_ = std::max(hops_, lane.hops);
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

void Simulation::execute(Lane& lane, std::size_t n) {
  const Instruction& now = lane.now;
  Rank& rank = ranks_[static_cast<std::size_t>(lane.shape.rank)];
  Values values;
  Step step;
  if (now.own) {
    const auto own = rank.memory.begin() + static_cast<std::ptrdiff_t>(address(lane, now.own));
    values.assign(own, own + static_cast<std::ptrdiff_t>(n));
    for (Value& v : values) v = entered(now.own, v);
  }
  for (int q = 0; q < 32; ++q) {
    if ((now.from & queue(q)) == 0) continue;
    const Values incoming = received(lane, *lane.from[static_cast<std::size_t>(q)], n);
    if (values.empty()) values.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      values[i] = values[i].element < 0 ? incoming[i] : combined(values[i], incoming[i]);
  }
  for (Value& v : values) v.complete = v.complete || now.finish;
  // As a Lane does it: by reference from where the value lies, unless that is scratch.
  step.values = values;
  if (now.out) write(lane, values);
  const Place at = now.from == 0 ? now.own : now.out;
  if (at && at.buffer != Buffer::kScratch && !now.changes) {
    step.sharedBy = lane.shape.rank;
    step.address = address(lane, at);
    const auto start = rank.memory.begin() + static_cast<std::ptrdiff_t>(step.address);
    step.snapshot.assign(start, start + static_cast<std::ptrdiff_t>(n));
  }
  step.hops = lane.hops + 1;
  for (int q = 0; q < 32; ++q) {
    if ((now.to & queue(q)) == 0) continue;
    lane.to[static_cast<std::size_t>(q)]->push_back(step);
    moved_ += n;
  }
  lane.done += n;
}

void Simulation::write(const Lane& lane, const Values& values) {
  Rank& rank = ranks_[static_cast<std::size_t>(lane.shape.rank)];
  if (lane.now.out.buffer == Buffer::kInput) fail("the input is written to");
  const std::size_t start = address(lane, lane.now.out);
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
  }
  return {};
}

// Everything outside of the results is as it was before.
void Simulation::expectResults() {
  for (int r = 0; r < job_.ranks; ++r) {
    const Rank& rank = ranks_[static_cast<std::size_t>(r)];
    Values want = before_[static_cast<std::size_t>(r)];
    Values got = rank.memory;
    if (job_.collective != Collective::kReduce || r == job_.root)
      for (std::size_t i = 0; i < outputSize(); ++i) {
        want[rank.output + i] = expected(r, i);
        // A rank's own block may have stayed where it was.
        if (!reduces()) got[rank.output + i].raw = false;
      }
    for (std::size_t i = 0; i < rank.scratch; ++i)
      if (want[i] != got[i])
        return fail("rank " + std::to_string(r) + " has a wrong element at " + std::to_string(i) + ": " +
                    std::to_string(got[i].element) + " of " + std::to_string(got[i].ranks));
  }
}

}  // namespace xylem::testing
