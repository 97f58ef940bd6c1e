#pragma once
// An answer as JSON, for programs. The format, `xylem-why-1`, only ever grows:
//
//   {"format": "xylem-why-1", "question": "gdr GPU 0 NET 2", "yes": false, "headline": "…",
//    "steps": [{"rule": "gdr-receive", "text": "…", "yes": false, "inputs": {"distance": "SYS (7)", …},
//               "threshold": "PXB (4), NCCL's default", "variable": "NCCL_NET_GDR_LEVEL",
//               "sources": [{"file": "seed-a40x2.xml", "line": 5, "element": "<gpu dev=\"0\" …>"}]}],
//    "tables": [{"title": "…", "columns": […], "rows": [[…]]}],
//    "whatIf": [{"setting": "NCCL_NET_GDR_LEVEL=SYS", "outcome": "…"}], "notes": ["…"]}
//
// `yes` is null where a question or rule is not about yes or no; `variable` is null where none moves the
// rule.

#include <string>

#include "insight/why/answer.h"

namespace xylem {

std::string answerJson(const Answer& answer);

}  // namespace xylem
