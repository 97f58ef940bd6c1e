#pragma once
// How people write sizes and operations, read in one way by every command and question.
//
//   parseSize("1.5M")             ->   1572864; also "256KiB", "256 KiB", "256 kb": units are powers of 1024
//   isSameWord("AllReduce", "all_reduce")   ->   true: letters and digits count, in either case
//   collectiveNamed("all-reduce") ->   Collective::kAllReduce

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/kinds.h"

namespace xylem {

// Bytes; nullopt if the text is no size, or one of more than 1 EiB. Fractions of bytes are cut off.
std::optional<std::uint64_t> parseSize(std::string_view text);

// The text with small letters, of ASCII.
std::string lowerCase(std::string text);
// The letters and digits alone, in lower case.
std::string lettersOf(std::string_view text);
inline bool isSameWord(std::string_view a, std::string_view b) { return lettersOf(a) == lettersOf(b); }

// One of kAllCollectives, or nullopt.
std::optional<Collective> collectiveNamed(std::string_view text);

}  // namespace xylem
