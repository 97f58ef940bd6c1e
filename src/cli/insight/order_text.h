#pragma once
// What `xylem order` prints for people.

#include <string>

#include "cli/insight/order_words.h"
#include "cli/terminal.h"

namespace xylem::cli {

std::string orderText(const OrderReport& report, const Terminal& screen);

}  // namespace xylem::cli
