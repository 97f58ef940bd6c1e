#pragma once
// Where in the topology file a node or a link of a plan comes from.
//
//   AnswerSource source = sourceOf(plan.hostOf(0), gpu);    // seed-a40x2.xml:17  <gpu dev="0" sm="86"
//   gdr="1">

#include "planner/plan/plan.h"
#include "insight/why/answer.h"

namespace xylem {

AnswerSource sourceOf(const HostPlan& host, NodeId node);
// The element that says how wide the link is.
AnswerSource sourceOfLink(const HostPlan& host, LinkId link);

}  // namespace xylem
