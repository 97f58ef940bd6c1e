#pragma once
// A contender performs the operations and reports how long they took. All contenders of a run are alive at
// the same time; those that are not measured sleep.

#include <optional>
#include <string>
#include <vector>

#include "comparison/operations.h"

namespace xylem::bench {

enum class Role {
  kOurs,
  kPeer,
  kLimit,  // does nothing but the minimum that the operation needs
};

class Contender {
 public:
  Contender(std::string name, Role role) : name_(std::move(name)), role_(role) {}
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  const std::string& name() const { return name_; }
  Role role() const { return role_; }
  // Version of the library, in its own words.
  virtual std::string version() const { return ""; }

  // These functions throw Error if the contender cannot go on; it is left out from then on.
  virtual bool supports(const Case&) const { return true; }
  // Allocates buffers of `bytes` bytes and fills them; 0: frees them.
  virtual void prepare(std::uint64_t bytes) = 0;
  // Returns the seconds of one iteration, after the warm-ups.
  virtual double measure(const Case& c, unsigned iterations, unsigned warmUps) = 0;
  // Returns the seconds of the median iteration, each after a barrier of all ranks, on the rank for which it takes
  // longest; nothing if the contender cannot tell.
  virtual std::optional<double> measureApart(const Case&, unsigned) { return std::nullopt; }
  // Returns the number of elements that are wrong after one operation; nothing if it has no results.
  virtual std::optional<std::uint64_t> check(const Case& c) = 0;
  // Bytes of this machine's memory that its buffers take per byte of a case.
  virtual int buffers() const = 0;

 private:
  std::string name_;
  Role role_;
};

}  // namespace xylem::bench
