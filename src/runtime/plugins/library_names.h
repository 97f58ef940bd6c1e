#pragma once
// Which files a variable such as NCCL_NET_PLUGIN names, by NCCL's rules.
//
//   libraryNames("libnccl-net", "ofi")    ->  {"ofi", "libnccl-net-ofi.so"}
//   libraryNames("libnccl-net", "")       ->  {"libnccl-net.so"}

#include <string>
#include <string_view>
#include <vector>

namespace xylem {

constexpr const char* kNetPrefix = "libnccl-net";
constexpr const char* kTunerPrefix = "libnccl-tuner";
constexpr const char* kProfilerPrefix = "libnccl-profiler";

// To be tried in this order; an empty name is the program itself; none for `none`. What is set never falls
// back to the default name.
std::vector<std::string> libraryNames(std::string_view prefix, std::string_view value);

// The entries of a list; one empty one for an empty text.
std::vector<std::string> pluginEntries(std::string_view list);

}  // namespace xylem
