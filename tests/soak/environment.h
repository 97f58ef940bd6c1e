#pragma once
// The settings under which a phase makes its communicators.

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "soak/random.h"

namespace xylem::soak {

struct Environment {
  std::vector<std::pair<std::string, std::string>> variables;  // empty value: unset; none of givenVariables()
  std::vector<std::string> hosts;                              // of the ranks; empty: the machine's
  std::size_t mostBytes = 0;                                   // of an operation
};

// Locked while a thread writes variables of this process, and for calls that read them.
std::mutex& environmentMutex();

// Variables that phases choose, but that were set when the soak began: they stay as they are in all phases. Called before a phase sets
// any.
const std::map<std::string, std::string>& givenVariables();

Environment chooseEnvironment(Random& random, int ranks);

}  // namespace xylem::soak
