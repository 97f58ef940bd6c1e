#pragma once
// A known environment for one test: no NCCL_* or XYLEM_* variable of the caller's and no home directory; the
// caller's environment comes back at the end.
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
