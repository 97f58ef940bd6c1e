#pragma once
// Names of GPUs and NICs in questions and answers.
//
//   int rank = gpuNamed(plan, "gpu3");
//   NodeId net = netNamed(plan, rank, "nic1");     // on the rank's host
//   nodeName(plan, rank, net)   ->   "NET 1"
//
// Answers name GPUs by their rank in the job, so that one name means one GPU on whichever host.

#include <string>
#include <vector>

#include "core/error.h"
#include "planner/plan/plan.h"
#include "insight/why/answer.h"

namespace xylem {

// Where what a question says was read.
inline const SourceLocation kOfQuestion{"why", 0};

// The rank; throws InputError with what there is.
int gpuNamed(const Plan& plan, const std::string& text);
// In the system of the rank's view; throws InputError with what there is.
NodeId netNamed(const Plan& plan, int rank, const std::string& text);
// Does the text name a NIC rather than a GPU? By its form, or as that is a NIC's name or bus id.
bool namesNet(const Plan& plan, const std::string& text);

// "GPU 12", "NET 0", "CPU 1", "switch 0000:10:00.0", "NIC 0000:13:00.0", "NVSwitch": a node of the rank's
// view.
std::string nodeName(const Plan& plan, int rank, NodeId node);
// The same of another graph of the rank's host.
std::string nodeName(const Plan& plan, int rank, const System& system, NodeId node);
std::string gpuName(int rank);
// The rank of a GPU of the rank's view.
int rankOfNode(const Plan& plan, int rank, NodeId gpu);
// "SYS (7)": as messages name it, and as NCCL's distances count it.
std::string typeText(PathType type);
std::string bandwidthText(float bandwidth);

// `gpu 3` as one word, lower case, where people write names in two.
std::vector<std::string> joinNames(const std::vector<std::string>& words);

}  // namespace xylem
