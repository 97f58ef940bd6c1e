#pragma once
// A known environment for one test: without the caller's NCCL_*, XYLEM_* and TEST_* variables and home directory. The
// destructor restores the caller's environment.
//
//   ScopedEnvironment environment{{"NCCL_DEBUG", "INFO"}};

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace xylem {

class ScopedEnvironment {
 public:
  ScopedEnvironment(std::initializer_list<std::pair<std::string, std::string>> variables);
  ~ScopedEnvironment();
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  std::map<std::string, std::string> saved_;
};

}  // namespace xylem
