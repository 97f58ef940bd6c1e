#pragma once
// Checks of option values, with messages that say what was found and what would do.
//
//   command->add_option("--nodes", options->nodes, "...")->type_name("N")->check(integerIn(1, 1000));
//     ->  xylem: --nodes: found `-2`, expected an integer from 1 to 1000

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace xylem::cli {

CLI::Validator integerIn(std::int64_t minimum, std::int64_t maximum);

// "8", "64K", "1.5M", "2G" (powers of 1024). Throws InputError naming `option`.
std::size_t parseBytes(const std::string& text, const std::string& option);

}  // namespace xylem::cli
