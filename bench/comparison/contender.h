#pragma once
// Who takes part: something that can do the operations and say how long they took. All contenders of a run
// are alive at the same time; those that are not measured sleep.

#include <optional>
#include <string>
#include <vector>

#include "comparison/operations.h"

namespace xylem::bench {

enum class Role {
  kOurs,
  kPeer,
  kLimit,  // does nothing but what the operation needs at the least
};

class Contender {
 public:
  Contender(std::string name, Role role) : name_(std::move(name)), role_(role) {}
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  const std::string& name() const { return name_; }
  Role role() const { return role_; }
  // Of the library, as it says.
  virtual std::string version() const { return ""; }

  // All of these throw Error when it cannot go on; it is left out from then on.
  virtual bool supports(const Case&) const { return true; }
  // Buffers of so many bytes, filled; 0: none.
  virtual void prepare(std::uint64_t bytes) = 0;
  // Seconds of an iteration, after the warm-ups.
  virtual double measure(const Case& c, unsigned iterations, unsigned warmUps) = 0;
  // Elements that are wrong after one operation; nothing if it has no results.
  virtual std::optional<std::uint64_t> check(const Case& c) = 0;
  // Buffers that it needs per byte of a case: in memory of this machine.
  virtual int buffers() const = 0;

 private:
  std::string name_;
  Role role_;
};

}  // namespace xylem::bench
