#include "runtime/cuda_api/graph.h"

#include <algorithm>
#include <exception>

namespace xylem::cuda_api {

std::size_t Graph::add(GraphNode node) {
  std::sort(node.after.begin(), node.after.end());
  node.after.erase(std::unique(node.after.begin(), node.after.end()), node.after.end());
  node.number = nodes_.size();
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

// Nodes depend only on earlier ones, so that one pass backwards reaches all on which `last` depends.
bool Graph::endsWith(const std::vector<std::size_t>& last, std::size_t first) const {
  std::vector<bool> reached(nodes_.size());
  for (const std::size_t index : last) reached[index] = true;
  for (std::size_t i = nodes_.size(); i-- > first;) {
    if (!reached[i]) return false;
    for (const std::size_t earlier : nodes_[i].after) reached[earlier] = true;
  }
  return true;
}

// A branch goes on behind its last node. Any other node begins one, the first node of the graph branch 0.
int Graph::branchAfter(const std::vector<std::size_t>& after) const {
  int branches = 0;
  std::vector<std::size_t> last;  // by branch
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto branch = static_cast<std::size_t>(nodes_[i].branch);
    if (last.size() <= branch) last.resize(branch + 1);
    last[branch] = i;
    branches = std::max(branches, nodes_[i].branch + 1);
  }
  for (const std::size_t earlier : after)
    if (last[static_cast<std::size_t>(nodes_[earlier].branch)] == earlier) return nodes_[earlier].branch;
  return branches;
}

std::optional<std::size_t> Graph::differsFrom(const Graph& other) const {
  const std::size_t both = std::min(nodes_.size(), other.nodes_.size());
  for (std::size_t i = 0; i < both; ++i)
    if (nodes_[i].type != other.nodes_[i].type || nodes_[i].after != other.nodes_[i].after) return i;
  if (nodes_.size() == other.nodes_.size()) return std::nullopt;
  return both;
}

bool Graph::drop(const void* resource, std::size_t count) {
  const auto isIt = [&](const std::shared_ptr<void>& kept) { return kept.get() == resource; };
  if (static_cast<std::size_t>(std::count_if(kept_.begin(), kept_.end(), isIt)) < count) return false;
  for (std::size_t i = 0; i < count; ++i) kept_.erase(std::find_if(kept_.begin(), kept_.end(), isIt));
  return true;
}

// One launch while it is issued.
struct GraphExec::Launching {
  device::Stream& stream;
  SharedEvent start;
  std::vector<SharedEvent> events;  // by node: its end, if a node of another branch depends on it
  std::vector<bool> started;        // by branch
  std::exception_ptr failure;
};

GraphExec::GraphExec(const Graph& graph) : graph_(graph), awaited_(graph.nodes().size()) {
  for (const GraphNode& node : graph_.nodes()) {
    for (const std::size_t earlier : node.after)
      if (graph_.nodes()[earlier].branch != node.branch) awaited_[earlier] = true;
    const auto branch = static_cast<std::size_t>(node.branch);
    if (branch == 0) continue;
    if (branches_.size() < branch) branches_.resize(branch);
    if (branches_[branch - 1] == nullptr) branches_[branch - 1] = std::make_unique<PooledStream>(node.device);
  }
}

device::Stream& GraphExec::streamOf(const GraphNode& node, Launching& now) const {
  const auto branch = static_cast<std::size_t>(node.branch);
  if (branch == 0) return now.stream;
  device::Stream& stream = branches_[branch - 1]->get();
  if (!now.started[branch]) waitForEvent(stream, now.start);
  now.started[branch] = true;
  return stream;
}

void GraphExec::issue(std::size_t index, Launching& now) const {
  const GraphNode& node = graph_.nodes()[index];
  device::Stream& stream = streamOf(node, now);
  for (const std::size_t earlier : node.after)
    if (graph_.nodes()[earlier].branch != node.branch) waitForEvent(stream, now.events[earlier]);
  try {
    if (node.issue) node.issue(stream);
  } catch (...) {
    if (!now.failure) now.failure = std::current_exception();
  }
  if (awaited_[index]) now.events[index] = recordEvent(stream);
}

void GraphExec::follow(GraphExec& before) {
  const std::lock_guard lock(before.mutex_);
  last_ = before.last_;
}

void GraphExec::launch(device::Stream& stream) {
  const std::lock_guard lock(mutex_);
  waitForEvent(stream, last_);
  Launching now{stream, branches_.empty() ? nullptr : recordEvent(stream),
                std::vector<SharedEvent>(graph_.nodes().size()), std::vector<bool>(branches_.size() + 1),
                nullptr};
  for (std::size_t i = 0; i < graph_.nodes().size(); ++i) issue(i, now);
  // The launch ends once all branches have, and takes over their errors.
  for (const auto& branch : branches_) {
    if (branch == nullptr) continue;
    device::Stream& other = branch->get();
    enqueueSteps(stream, [end = recordEvent(other), &other] {
      if (!isReached(end)) return device::Progress::kWouldBlock;
      if (const auto error = other.takeError()) throw Error(*error);
      return device::Progress::kDone;
    });
  }
  last_ = recordEvent(stream);
  if (now.failure) std::rethrow_exception(now.failure);
}

}  // namespace xylem::cuda_api
