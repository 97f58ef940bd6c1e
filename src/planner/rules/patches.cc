#include "planner/rules/patches.h"

namespace xylem::rules {
namespace {

struct Patch {
  Version version;
  std::string_view difference;
};

constexpr Patch kPatches[] = {
    {{2, 26, 3}, "plans alike"},
    {{2, 26, 5}, "plans alike"},
    {{2, 26, 6}, "plans alike"},
    {{2, 27, 3},
     "path types PXN and P2C change places, P2C only where the GPU's own path is PHB; Blackwell's NVLink has "
     "40 GB/s, and "
     "its searches try 47.9 GB/s first; a search starts otherwise where channels differ; LL128 needs NICs "
     "within PXB or P2C"},
    {{2, 27, 5},
     "Blackwell's searches with NICs start at 48 GB/s; another GPU's NIC is taken only beyond PXB"},
    {{2, 27, 6}, "plans alike"},
    {{2, 28, 3},
     "NICs leave the graph of a job of one host; NVLS needs three GPUs; send and receive follow 2.27's "
     "schedule; other "
     "limits of LL128 and NVLSTree on Blackwell"},
    {{2, 28, 7}, "groups of send and receive start at 8 ranks on one node, too; other numbers of NVLSTree"},
    {{2, 29, 2}, "Blackwell's searches do not try 80 GB/s; other limits of Ring with LL128"},
    {{2, 29, 3}, "Blackwell's searches do not try 80 GB/s; other limits of Ring with LL128"},
    {{2, 30, 3},
     "paths prefer bandwidth to type; a GPU's own NICs and closest CPU as in 2.29; no parts of GPUs, rails "
     "and planes"},
    {{2, 30, 4},
     "paths prefer bandwidth to type; a GPU's own NICs and closest CPU as in 2.29; no parts of GPUs, rails "
     "and planes"},
};

}  // namespace

std::string_view differenceFromKnown(const Version& version) {
  for (const Patch& patch : kPatches)
    if (patch.version == version) return patch.difference;
  return "";
}

}  // namespace xylem::rules
