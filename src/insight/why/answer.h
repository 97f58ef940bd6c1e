#pragma once
// The answer to a question about a plan, as a value. Programs read it as JSON, people as text (the command's
// view of it), and tests check its facts.
//
//   Answer answer = Inquiry(request, settings).ask({"gdr", "gpu0", "nic2"});     // insight/why/why.h
//   answer.headline        ->  "GPU 0 and NET 2: no GPU Direct RDMA: the path is SYS, distance 7 > 4 (PXB)"
//   answer.steps[0].rule   ->  "gdr-receive"
//   toJson(answer)["steps"][0]["variable"]   ->  "NCCL_NET_GDR_LEVEL"
//
// A step is one rule that the planner applied: its inputs, the threshold it compared them with, the variable
// that moves the threshold, and the places in the topology file where the inputs stand.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.h"

namespace xylem::why {

// A place in a topology file; line 0 if the machine was detected rather than read from a file.
struct AnswerSource {
  std::string file;
  int line = 0;
  std::string element;  // `<gpu dev="0" sm="86" gdr="1">`, with the attributes that the planner's rules read

  bool operator==(const AnswerSource&) const = default;
};

struct AnswerInput {
  std::string name;
  std::string value;
};

struct AnswerStep {
  std::string rule;         // a stable name: "gdr-send"
  std::string text;         // the outcome with its reason, for a person
  std::optional<bool> yes;  // the outcome of a rule that allows or refuses
  std::vector<AnswerInput> inputs;
  std::string threshold;
  Setting variable = Setting::kCount;  // kCount: no variable moves the threshold
  std::vector<AnswerSource> sources;

  // Empty if there is no such input.
  std::string input(std::string_view name) const;
};

// The outcome under another setting. It is found by planning the job again, not estimated.
struct WhatIf {
  std::string setting;  // NCCL_NET_GDR_LEVEL=SYS
  std::string outcome;
};

// A rule that has not always been NCCL's and decided the answer.
struct VersionRule {
  std::string name;     // as `xylem versions` lists it: 29-gdr-level
  std::string since;    // 2.29.2
  std::string summary;  // what is decided differently
  std::string back;     // the variable and value that restores the older rule; empty if there is none
};

struct AnswerTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct Answer {
  std::string question;     // in full: "gdr GPU 0 NET 2"
  std::optional<bool> yes;  // only for questions about yes or no
  std::string headline;
  std::vector<AnswerStep> steps;
  std::vector<AnswerTable> tables;
  std::vector<WhatIf> whatIfs;
  // The fewest changes since the oldest known version that lead to this answer, and the answer without them. Empty if the
  // oldest version has the same answer.
  std::vector<VersionRule> versionRules;
  std::string before;
  std::vector<std::string> notes;
  int ranks = 0, hosts = 0;  // of the job for which it holds

  // The first step of this rule, or null.
  const AnswerStep* step(std::string_view rule) const;
};

// The format `xylem-why-1`, which only ever grows:
//
//   {"format": "xylem-why-1", "question": "gdr GPU 0 NET 2", "yes": false, "headline": "…",
//    "steps": [{"rule": "gdr-receive", "text": "…", "yes": false, "inputs": {"distance": "SYS (7)", …},
//               "threshold": "PXB (4), NCCL's default", "variable": "NCCL_NET_GDR_LEVEL",
//               "sources": [{"file": "seed-a40x2.xml", "line": 5, "element": "<gpu dev=\"0\" …>"}]}],
//    "tables": [{"title": "…", "columns": […], "rows": [[…]]}],
//    "whatIf": [{"setting": "NCCL_NET_GDR_LEVEL=SYS", "outcome": "…"}],
//    "versionRules": [{"name": "29-gdr-level", "since": "2.29.2", "summary": "…", "back": "…"}], "before": "…",
//    "notes": ["…"]}
//
// `yes` is null if the question or rule is not about yes or no; `variable` is null if no variable moves the
// threshold.
nlohmann::ordered_json toJson(const Answer& answer);

}  // namespace xylem::why
