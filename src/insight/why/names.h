#pragma once
// Names of GPUs and NICs in questions and answers, and their places in the topology file.
//
//   int rank = gpuNamed(plan, "gpu3");
//   NodeId net = netNamed(plan, rank, "nic1");     // on the rank's host
//   nodeName(plan, rank, net)                  ->   "NET 1"
//   sourceOf(plan.hostOf(rank), net).line      ->   17
//
// Answers name GPUs by their rank in the job, so that a name means the same GPU on every host.

#include <string>
#include <vector>

#include "core/error.h"
#include "insight/why/answer.h"
#include "planner/plan/plan.h"

namespace xylem::why {

// The location that InputErrors about a question's words carry.
inline const SourceLocation kOfQuestion{"why", 0};

// The rank. Throws InputError that lists the GPUs of the job.
int gpuNamed(const plan::Plan& plan, const std::string& text);
// A NET in the system of the rank's view. Throws InputError that lists the NETs of the host.
topology::NodeId netNamed(const plan::Plan& plan, int rank, const std::string& text);
// Returns whether the text names a NIC rather than a GPU: it has the form of a NIC's number, or is the name
// or bus id of a NIC.
bool namesNet(const plan::Plan& plan, const std::string& text);

// "GPU 12", "NET 0", "CPU 1", "switch 0000:10:00.0", "NIC 0000:13:00.0", "NVSwitch": a node of the rank's
// view.
std::string nodeName(const plan::Plan& plan, int rank, topology::NodeId node);
// The same for a node of another graph of the rank's host.
std::string nodeName(const plan::Plan& plan, int rank, const topology::System& system, topology::NodeId node);
std::string gpuName(int rank);
// The rank of a GPU of the rank's view.
int rankOfNode(const plan::Plan& plan, int rank, topology::NodeId gpu);
// "SYS (7)": the path type and its number, which NCCL's log lines print as a distance.
std::string typeText(paths::PathType type, const rules::RuleSet& rules);
std::string bandwidthText(float bandwidth);

// The words in lower case, with names that were given as two words joined: {"GPU", "3"} -> {"gpu3"}.
std::vector<std::string> joinNames(const std::vector<std::string>& words);

// The element of the topology file that a node comes from: seed-a40x2.xml:17 <gpu dev="0" sm="86" gdr="1">
AnswerSource sourceOf(const plan::HostPlan& host, topology::NodeId node);
// The element that gives the bandwidth of the link.
AnswerSource sourceOfLink(const plan::HostPlan& host, topology::LinkId link);

}  // namespace xylem::why
