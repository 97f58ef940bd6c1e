#include "topology/rank_descriptions.h"
namespace xylem {
Document describeAsRanksWould(const Document& host, std::span<const int>) { return host; }
}
