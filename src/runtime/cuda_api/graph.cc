#include "runtime/cuda_api/graph.h"

#include <algorithm>
#include <exception>

namespace xylem {

std::size_t Graph::add(GraphNode node) {
  std::sort(node.after.begin(), node.after.end());
  node.after.erase(std::unique(node.after.begin(), node.after.end()), node.after.end());
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

bool Graph::endsWith(const std::vector<std::size_t>& last) const {
  std::vector<bool> reached(nodes_.size());
  for (const std::size_t index : last) reached[index] = true;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (!reached[i]) return false;
    for (const std::size_t earlier : nodes_[i].after) reached[earlier] = true;
  }
  return true;
}

// One launch while it is issued.
struct GraphExec::Launching {
  Stream& stream;
  SharedPlace start;
  std::vector<SharedPlace> places;  // of nodes that others wait for
  std::vector<bool> started;        // by lane
  std::exception_ptr failure;
};

GraphExec::GraphExec(const Graph& graph) : graph_(graph), awaited_(graph.nodes().size()) {
  for (const GraphNode& node : graph_.nodes()) {
    for (const std::size_t earlier : node.after)
      if (graph_.nodes()[earlier].lane != node.lane) awaited_[earlier] = true;
    const auto lane = static_cast<std::size_t>(node.lane);
    if (lane == 0) continue;
    if (lanes_.size() < lane) lanes_.resize(lane);
    if (lanes_[lane - 1] == nullptr) lanes_[lane - 1] = std::make_unique<PooledStream>(node.device);
  }
}

Stream& GraphExec::streamOf(const GraphNode& node, Launching& now) const {
  const auto lane = static_cast<std::size_t>(node.lane);
  if (lane == 0) return now.stream;
  Stream& stream = lanes_[lane - 1]->get();
  if (!now.started[lane]) awaitPlace(stream, now.start);
  now.started[lane] = true;
  return stream;
}

void GraphExec::issue(std::size_t index, Launching& now) const {
  const GraphNode& node = graph_.nodes()[index];
  Stream& stream = streamOf(node, now);
  for (const std::size_t earlier : node.after)
    if (graph_.nodes()[earlier].lane != node.lane) awaitPlace(stream, now.places[earlier]);
  try {
    if (node.issue) node.issue(stream);
  } catch (...) {
    if (!now.failure) now.failure = std::current_exception();
  }
  if (awaited_[index]) now.places[index] = markPlace(stream);
}

void GraphExec::launch(Stream& stream) {
  const std::lock_guard lock(mutex_);
  awaitPlace(stream, last_);
  Launching now{stream, lanes_.empty() ? nullptr : markPlace(stream),
                std::vector<SharedPlace>(graph_.nodes().size()), std::vector<bool>(lanes_.size() + 1),
                nullptr};
  for (std::size_t i = 0; i < graph_.nodes().size(); ++i) issue(i, now);
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    // Errors of the lane's work are the launching stream's.
    Stream& other = lane->get();
    enqueueSteps(stream, [end = markPlace(other), &other] {
      if (!isReached(end)) return Progress::kWouldBlock;
      if (const auto error = other.takeError()) throw Error(*error);
      return Progress::kDone;
    });
  }
  last_ = markPlace(stream);
  if (now.failure) std::rethrow_exception(now.failure);
}

}  // namespace xylem
