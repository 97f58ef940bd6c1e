#pragma once
// An answer to a question about a plan, as a value: programs read it (insight/why/json.h), people see it as text
// (cli/insight/why_text.h), tests assert on its facts.
//
//   Answer answer = Inquiry(request, settings).ask({"gdr", "gpu0", "nic2"});     // insight/why/why.h
//   answer.headline        ->  "GPU 0 and NET 2: no GPU Direct RDMA: the path is SYS, distance 7 > 4 (PXB)"
//   answer.steps[0].rule   ->  "gdr-receive"
//
// A step is one rule that was applied: what it looked at, the threshold it compared that with, the variable
// that would move it, and the places in the topology file its inputs come from.

#include <optional>
#include <string>
#include <vector>

#include "core/settings.h"

namespace xylem {

// A place in a topology file; line 0 if the machine was detected rather than read.
struct AnswerSource {
  std::string file;
  int line = 0;
  std::string element;  // `<gpu dev="0" sm="86" gdr="1">`, with the attributes that matter

  bool operator==(const AnswerSource&) const = default;
};

struct AnswerInput {
  std::string name;
  std::string value;
};

struct AnswerStep {
  std::string rule;         // a stable name: "gdr-send"
  std::string text;         // the outcome with its reason, for a person
  std::optional<bool> yes;  // of rules that allow or refuse
  std::vector<AnswerInput> inputs;
  std::string threshold;
  Setting variable = Setting::kCount;  // kCount: none
  std::vector<AnswerSource> sources;

  // Empty if there is no such input.
  std::string input(std::string_view name) const;
};

// What would happen under another setting; planned, not guessed.
struct WhatIf {
  std::string setting;  // NCCL_NET_GDR_LEVEL=SYS
  std::string outcome;
};

struct AnswerTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Answer {
  std::string question;     // in full: "gdr GPU 0 NET 2"
  std::optional<bool> yes;  // of questions that have such an answer
  std::string headline;
  std::vector<AnswerStep> steps;
  std::vector<AnswerTable> tables;
  std::vector<WhatIf> whatIfs;
  std::vector<std::string> notes;

  // The first step of this rule, or null.
  const AnswerStep* step(std::string_view rule) const;
};

}  // namespace xylem
