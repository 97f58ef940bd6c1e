#include <algorithm>
#include <map>

#include "insight/report/host_picture.h"
#include "insight/why/rules.h"

namespace xylem {
namespace {

class Matrix {
 public:
  // The rules are asked on the graph the job uses: its nodes are found in the picture by their keys.
  Matrix(const Plan& plan, int rank, const HostPicture& picture)
      : rules_(plan, rank), system_(rules_.system()), picture_(picture) {}

  ReachMatrix make() {
    ReachMatrix matrix;
    std::vector<NodeId> rows, nets;
    for (NodeId gpu : system_.nodes(NodeType::kGpu))
      if (static_cast<int>(rows.size()) < kMostMatrixGpus) rows.push_back(gpu);
    for (NodeId net : system_.nodes(NodeType::kNet)) nets.push_back(net);
    matrix.gpusLeftOut = system_.count(NodeType::kGpu) - static_cast<int>(rows.size());
    for (NodeId gpu : rows) {
      for (NodeId other : rows) matrix.cells.push_back(other == gpu ? ReachCell{} : betweenGpus(gpu, other));
      for (NodeId net : nets) matrix.cells.push_back(toNet(gpu, net));
    }
    for (NodeId gpu : rows) matrix.rows.push_back(inPicture(gpu));
    matrix.columns = matrix.rows;
    for (NodeId net : nets) matrix.columns.push_back(inPicture(net));
    return matrix;
  }

 private:
  NodeId inPicture(NodeId node) const {
    for (NodeId id : picture_.system.nodes(system_.type(node)))
      if (picture_.system[id].key == system_[node].key &&
          picture_.system[id].element == system_[node].element)
        return id;
    return kNoNode;
  }

  // The decision that counts is the one of the moment before it changed the path.
  Decision decided(Rule rule, NodeId a, NodeId b, const Decision& now) const {
    const Decision* made = rules_.made(rule, a, b);
    return made != nullptr ? *made : now;
  }

  ReachCell withPath(NodeId a, NodeId b) const {
    const Path& path = rules_.paths().path(a, b);
    ReachCell cell;
    cell.type = path.type;
    cell.bandwidth = path.bandwidth;
    return cell;
  }

  ReachCell betweenGpus(NodeId a, NodeId b) const {
    ReachCell cell = withPath(a, b);
    const Decision p2p = decided(Rule::kP2p, a, b, rules_.reach().p2p(a, b));
    cell.reasons.push_back(rules_.step(p2p));
    cell.direct = rules_.reach().transportP2p(p2p).yes;
    cell.way = "P2P";
    if (cell.direct) return cell;
    const Decision shm = rules_.reach().transportShm(a, b);
    cell.reasons.push_back(rules_.step(shm));
    cell.way = shm.yes ? "SHM" : "NET";
    if (!shm.yes) cell.reasons.push_back(rules_.step(rules_.reach().netIsBetter(a, b)));
    return cell;
  }

  ReachCell toNet(NodeId gpu, NodeId net) const {
    ReachCell cell = withPath(gpu, net);
    const Decision in =
        decided(Rule::kGdrReceive, gpu, net, rules_.reach().gdr(gpu, net, Direction::kReceive));
    const Decision out = rules_.reach().gdr(gpu, net, Direction::kSend);
    cell.direct = in.yes && out.yes;
    cell.way = cell.direct ? "GDR" : in.yes ? "GDR in" : out.yes ? "GDR out" : "host";
    cell.reasons = {rules_.step(in), rules_.step(out)};
    if (const Decision* pxn = rules_.made(Rule::kPxn, gpu, net); pxn != nullptr && pxn->yes)
      cell.reasons.push_back(rules_.step(*pxn));
    return cell;
  }

  HostRules rules_;
  const System& system_;
  const HostPicture& picture_;
};

}  // namespace

ReachMatrix reachMatrix(const Plan& plan, int rank, const HostPicture& picture) {
  return Matrix(plan, rank, picture).make();
}

}  // namespace xylem
