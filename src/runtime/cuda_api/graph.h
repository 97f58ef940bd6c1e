#pragma once
// A graph of captured work: nodes and the nodes on which they depend; and a graph that is ready to be
// launched.
//
//   Graph graph;
//   graph.add({cudaGraphNodeTypeMemcpy, {}, 0, device, [=](Stream& stream) { enqueueWork(stream, ...); }});
//   GraphExec exec(graph);
//   exec.launch(stream);   // issues every node anew

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "host/cuda_runtime.h"
#include "runtime/cuda_api/stream_work.h"

// One node, to which a cudaGraphNode_t points as long as the graph exists.
struct CUgraphNode_st {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::vector<std::size_t> after;  // the nodes on which it depends, all added before it
  int branch = 0;                  // a chain: each node of a branch depends on the one added to it before
  int device = 0;
  std::function<void(xylem::device::Stream&)> issue;  // enqueues its work, any number of times
  std::size_t number = 0;                             // its place in the graph, and in copies of the graph
};

namespace xylem::cuda_api {

using GraphNode = CUgraphNode_st;

class Graph {
 public:
  std::size_t add(GraphNode node);
  const std::deque<GraphNode>& nodes() const { return nodes_; }
  std::deque<GraphNode>& nodes() { return nodes_; }
  // True if every node from number `first` on is in `last`, or a node in `last` depends on it.
  bool endsWith(const std::vector<std::size_t>& last, std::size_t first = 0) const;
  // The branch for a node that depends on `after`.
  int branchAfter(const std::vector<std::size_t>& after) const;
  // The first node, by number, that has another type or other dependencies in `other`, or is in one of them only;
  // none if there is no such node.
  std::optional<std::size_t> differsFrom(const Graph& other) const;
  // Keeps `resource` alive as long as the graph and the GraphExecs made of it.
  void keep(std::shared_ptr<void> resource) { kept_.push_back(std::move(resource)); }
  void keepAllOf(const Graph& other) { kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end()); }
  // Keeps a resource `count` times less. False if it was not kept as often.
  bool drop(const void* resource, std::size_t count);

 private:
  std::deque<GraphNode> nodes_;
  std::vector<std::shared_ptr<void>> kept_;
};

// Launches a graph: issues the nodes in the order in which they were captured. Branch 0 runs in the stream of
// the launch, each other branch in a stream of its own. Where a node depends on one of another branch, its
// stream waits for an event.
class GraphExec {
 public:
  explicit GraphExec(const Graph& graph);
  // Issues all nodes, then throws the first Error of one that could not be issued. The enqueued work does not
  // need the GraphExec any more.
  void launch(device::Stream& stream);
  const Graph& graph() const { return graph_; }
  // Launches of this wait for all launches of `before` until now.
  void follow(GraphExec& before);

 private:
  struct Launching;
  // The stream of a node's branch in this launch.
  device::Stream& streamOf(const GraphNode& node, Launching& now) const;
  void issue(std::size_t index, Launching& now) const;

  Graph graph_;
  std::vector<bool> awaited_;                            // by node: a node of another branch depends on it
  std::vector<std::unique_ptr<PooledStream>> branches_;  // from branch 1 on; null for branches without nodes
  std::mutex mutex_;                                     // one launch is issued at a time
  SharedEvent last_;                                     // the end of the last launch
};

}  // namespace xylem::cuda_api
