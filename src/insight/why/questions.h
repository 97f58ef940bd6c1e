#pragma once
// One function per kind of question: each explains part of a plan. insight/why/why.h reads a question's words
// and calls the function for it.
//
//   Answer answer = whyGdr({plan, request, settings}, 0, net);
//
// A question may also plan the same job under another setting, and say what that would change:
//
//   tryWith(context, answer, Setting::kNetGdrLevel, "SYS", channelSummary);

#include <functional>
#include <string>

#include "insight/why/answer.h"
#include "planner/plan/planner.h"

namespace xylem::why {

// The plan that a question is about, and what the planner made it from.
struct QuestionContext {
  const plan::Plan& plan;
  const plan::PlanRequest& request;
  const Settings& settings;
  bool whatIfs = true;  // answers tell what other settings would change, which takes further plans
};

// Plans the job with one setting changed, and adds a WhatIf with the description of that plan to the answer.
// Adds nothing if the job takes long to plan or the setting has this value already.
void tryWith(const QuestionContext& context, Answer& answer, Setting setting, const std::string& value,
             const std::function<std::string(const plan::Plan&)>& describe);

// "ring 4 x 20.0 GB/s, tree 4 x 20.0 GB/s, 8 channels": the part of a plan that most settings change.
std::string channelSummary(const plan::Plan& plan);

Answer whyGdr(const QuestionContext& context, int rank, topology::NodeId net);
Answer whyP2p(const QuestionContext& context, int from, int to);
// Without a GPU and a NIC: the answer for all of them.
Answer whyGdrOfAll(const QuestionContext& context);
Answer whyNicOfAll(const QuestionContext& context);
Answer whyP2pOfAll(const QuestionContext& context);
Answer whyPxn(const QuestionContext& context, int rank, topology::NodeId net);
// The path to the GPU of `peer`, or to `net`, a NET of the rank's host; `net` is kNoNode in the first case.
Answer whyPath(const QuestionContext& context, int rank, int peer, topology::NodeId net);
// The NICs of sends to `peer`, or, if that is -1, to the ranks of another host.
Answer whyNic(const QuestionContext& context, int rank, int peer);
Answer whyChannels(const QuestionContext& context, search::GraphKind kind);
Answer whyCount(const QuestionContext& context);
Answer whyAlgorithm(const QuestionContext& context, const std::string& collective, const std::string& size);
Answer whyRank(const QuestionContext& context, int rank);

}  // namespace xylem::why
