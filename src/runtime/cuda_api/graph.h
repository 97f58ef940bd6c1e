#pragma once
// A graph: work that was captured, each with what it depends on, and the same ready to be launched.
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
#include <vector>

#include "runtime/cuda_api/stream_pool.h"
#include "runtime/cuda_api/stream_work.h"
#include "host/cuda_runtime.h"

// What cudaGraphNode_t points to: one node, as long as its graph exists.
struct CUgraphNode_st {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::vector<std::size_t> after;  // the nodes it depends on, all of them added before it
  int lane = 0;  // nodes of one lane depend on each other in the order in which they were added
  int device = 0;
  std::function<void(xylem::Stream&)> issue;  // enqueues it; any number of times
};

namespace xylem {

using GraphNode = CUgraphNode_st;

class Graph {
 public:
  std::size_t add(GraphNode node);
  const std::deque<GraphNode>& nodes() const { return nodes_; }
  std::deque<GraphNode>& nodes() { return nodes_; }
  // Whether all nodes are among `last` and those that they depend on.
  bool endsWith(const std::vector<std::size_t>& last) const;
  // Keeps `resource` as long as the graph and what was made of it.
  void keep(std::shared_ptr<void> resource) { kept_.push_back(std::move(resource)); }

 private:
  std::deque<GraphNode> nodes_;
  std::vector<std::shared_ptr<void>> kept_;
};

// Lane 0 runs in the stream of the launch, the others in streams of their own. Nodes of different lanes wait
// for each other at places.
class GraphExec {
 public:
  explicit GraphExec(const Graph& graph);
  // Throws the first Error of a node that could not be issued, after the rest was. What it enqueued does not
  // depend on the exec any more.
  void launch(Stream& stream);

 private:
  struct Launching;
  // The lane's stream in this launch.
  Stream& streamOf(const GraphNode& node, Launching& now) const;
  void issue(std::size_t index, Launching& now) const;

  Graph graph_;
  std::vector<bool> awaited_;                         // by a node of another lane
  std::vector<std::unique_ptr<PooledStream>> lanes_;  // from lane 1 on; null where there are no nodes
  std::mutex mutex_;                                  // launches come one after the other
  SharedPlace last_;                                  // the end of the last one
};

}  // namespace xylem
