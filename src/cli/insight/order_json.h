#pragma once
// What `xylem order --json` prints, in the format `xylem-order-1`.

#include <string>

#include "cli/insight/order_words.h"

namespace xylem::cli {

// Bandwidths in GB/s, times in seconds per GB of the AllReduce, bytes per byte of it.
std::string orderJson(const OrderReport& report);

}  // namespace xylem::cli
