#pragma once
// The part of a job that its topology files do not tell: which NICs the variables leave, whether drivers offer NVLS, and the
// channels of a graph file. The command and the library (include/xylem/plan.h) ask here, so that they plan alike, and say the same.
//
//   Remarks remarks;
//   const Document machine = nicsInUse(readTopology("dgxh100.xml"), settings, remarks);
//   ... request.hosts, request.nccl ...
//   addOffers(request, {.collnet = true}, settings, remarks);
//   addGraphFile(request, settings, remarks);

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.h"
#include "planner/plan/planner.h"
#include "planner/rules/version.h"

namespace xylem::plan {

// A sentence each.
struct Remarks {
  std::vector<std::string> assumptions;  // where what is asked leaves something open
  std::vector<std::string> warnings;     // where what is asked hardly means what was meant
};

// The variables that are set and that this version of NCCL does not know, a sentence each with the versions that know it;
// and the levels (a path type such as P2C) that it does not know.
std::vector<std::string> unknownTo(const rules::Version& version, const Settings& settings);

// The same, after a sentence that says so if the rules of another version answer for this one, and in what that one differs.
std::vector<std::string> versionWarnings(const rules::Version& version, const Settings& settings);

// The description without the NICs that NCCL_IB_HCA and the like leave out.
topology::Document nicsInUse(topology::Document document, const Settings& settings, Remarks& remarks);
// Tells the overrides of bandwidths that it holds. Throws InputError as buildSystem does.
void remarkOverrides(const topology::Document& document, const std::shared_ptr<const rules::RuleSet>& rules,
                     Remarks& remarks);

// The abilities of driver and network. Without `nvls`, NVLink multicast is assumed where a machine of the request has the hardware,
// unless NCCL_NVLS_ENABLE decides. A topology file does not say whether a driver offers it.
struct Offers {
  std::optional<bool> nvls = std::nullopt;
  bool collnet = false;
};
void addOffers(PlanRequest& request, const Offers& offers, const Settings& settings, Remarks& remarks);

// Reads the file that NCCL_GRAPH_FILE names, if it is set. Throws InputError.
void addGraphFile(PlanRequest& request, const Settings& settings, Remarks& remarks);

}  // namespace xylem::plan
