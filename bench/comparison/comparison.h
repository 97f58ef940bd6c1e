#pragma once
// Measures all contenders of a shape on one case after the other. Probes and contenders alternate (probe, A,
// probe, B, probe, …), so that results differ by contender and not by time.
//
//   Comparison comparison(std::move(contenders), probe, plan);
//   CaseResult result = comparison.measure(c);      // times by contender
//   comparison.remarks()                            // who was left out, and why

#include <functional>
#include <memory>

#include "comparison/contender.h"
#include "comparison/line_probe.h"
#include "comparison/statistics.h"

namespace xylem::bench {

struct Plan {
  unsigned rounds = 7;
  double targetSeconds = 0.005;  // of one measurement
  // Bytes that this measurement moved over the cable between the hosts; empty on one host.
  std::function<std::uint64_t()> moved;
};

struct Measured {
  std::string contender;
  Role role{};
  unsigned iterations = 0;
  std::optional<std::uint64_t> wrong;  // wrong elements; nothing if it has no results
  Estimate time;                       // back to back
  // Each after a barrier; nothing for contenders that do not tell.
  std::optional<Estimate> apart = std::nullopt;
};

struct CaseResult {
  Case c;
  Window window;                   // of the probes, where the machine was most of the time
  std::vector<Measured> measured;  // those that could

  const Measured* of(const std::string& contender) const;
  // The least time of the contenders with this role, back to back and each after a barrier.
  std::optional<double> best(Role role) const;
  std::optional<double> bestApart(Role role) const;
};

class Comparison {
 public:
  // `probe` is null on a machine with one core.
  Comparison(std::vector<std::unique_ptr<Contender>> contenders, LineProbe* probe, const Plan& plan)
      : contenders_(std::move(contenders)), probe_(probe), plan_(plan) {}

  CaseResult measure(const Case& c);
  const std::vector<std::string>& remarks() const { return remarks_; }
  // Memory that the buffers of all contenders take for a case, in bytes.
  int buffers() const;

 private:
  struct Entrant {
    Contender* contender;
    unsigned iterations, warmUps;
    std::optional<std::uint64_t> wrong;
    std::vector<Sample> samples, apart;
  };
  std::vector<Entrant> enter(const Case& c);
  Entrant calibrated(Contender& contender, const Case& c) const;
  void checkPath(const Case& c, std::uint64_t movedBefore) const;
  // Returns whether the contender still takes part; one that fails is left out from then on.
  bool attempt(Contender*& contender, const Case& c, const std::function<void()>& what);
  double probe() { return probe_ != nullptr ? probe_->measure() : 0; }

  std::vector<std::unique_ptr<Contender>> contenders_;
  LineProbe* probe_;
  const Plan plan_;
  std::vector<std::string> remarks_;
};

}  // namespace xylem::bench
