#include "comparison/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "comparison/interruption.h"
#include "core/error.h"

namespace xylem::bench {
namespace {

constexpr double kMaxIterations = 20000;
constexpr unsigned kTrial = 20;  // iterations that tell how long one takes
constexpr double kTrialSeconds = 0.02;
// Iterations that are apart: a median needs no more.
constexpr unsigned kMostApart = 100;

}  // namespace

const Measured* CaseResult::of(const std::string& contender) const {
  for (const Measured& m : measured)
    if (m.contender == contender) return &m;
  return nullptr;
}

std::optional<double> CaseResult::best(Role role) const {
  std::optional<double> least;
  for (const Measured& m : measured)
    if (m.role == role && (!least || m.time.seconds < *least)) least = m.time.seconds;
  return least;
}

std::optional<double> CaseResult::bestApart(Role role) const {
  std::optional<double> least;
  for (const Measured& m : measured)
    if (m.role == role && m.apart && (!least || m.apart->seconds < *least)) least = m.apart->seconds;
  return least;
}

int Comparison::buffers() const {
  int sum = 0;
  for (const auto& contender : contenders_) sum += contender->buffers();
  return sum;
}

bool Comparison::attempt(Contender*& contender, const Case& c, const std::function<void()>& what) {
  try {
    what();
    return true;
  } catch (const Error& error) {
    throwIfInterrupted();
    remarks_.push_back(fmt::format("{} is left out since {} of {} bytes: {}", contender->name(),
                                   name(c.operation), c.bytes, error.what()));
    std::erase_if(contenders_, [&](const auto& one) { return one.get() == contender; });
    contender = nullptr;
    return false;
  }
}

Comparison::Entrant Comparison::calibrated(Contender& contender, const Case& c) const {
  const std::uint64_t moved = plan_.moved ? plan_.moved() : 0;
  Entrant entrant{&contender, 0, 0, contender.check(c), {}, {}};
  double seconds = contender.measure(c, 1, 1);
  if (plan_.moved) checkPath(c, moved);
  if (seconds * kTrial < kTrialSeconds) seconds = contender.measure(c, kTrial, 1);
  entrant.iterations =
      static_cast<unsigned>(std::clamp(plan_.targetSeconds / std::max(seconds, 1e-9), 1.0, kMaxIterations));
  // The caches hold data of the contender that was measured before.
  entrant.warmUps = 1 + entrant.iterations / 8;
  return entrant;
}

// A contender that found a way around the network measures something else.
void Comparison::checkPath(const Case& c, std::uint64_t movedBefore) const {
  const std::uint64_t moved = plan_.moved() - movedBefore;
  if (moved < c.bytes)  // two or three operations, each at least half of this
    throw Error(ResultCode::kInvalidUsage, "only {} bytes went over the network", moved);
}

std::vector<Comparison::Entrant> Comparison::enter(const Case& c) {
  std::vector<Contender*> all;
  for (const auto& contender : contenders_) all.push_back(contender.get());
  std::vector<Entrant> entrants;
  for (Contender* contender : all) {
    if (!contender->supports(c)) continue;
    attempt(contender, c, [&] {
      contender->prepare(c.bytes);
      entrants.push_back(calibrated(*contender, c));
    });
  }
  return entrants;
}

CaseResult Comparison::measure(const Case& c) {
  std::vector<Entrant> entrants = enter(c);
  std::vector<double> probes;
  for (unsigned round = 0; round < plan_.rounds; ++round) {
    double before = probe();
    probes.push_back(before);
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      throwIfInterrupted();
      // Every contender comes first at some time, and after each of the others.
      Entrant& entrant = entrants[(i + round) % entrants.size()];
      if (entrant.contender == nullptr) continue;
      double seconds = 0;
      std::optional<double> apart;
      const bool measured = attempt(entrant.contender, c, [&] {
        seconds = entrant.contender->measure(c, entrant.iterations, entrant.warmUps);
        apart = entrant.contender->measureApart(c, std::min(1 + entrant.iterations / 4, kMostApart));
      });
      const double after = probe();
      if (measured) entrant.samples.push_back({seconds, before, after});
      if (measured && apart) entrant.apart.push_back({*apart, before, after});
      before = after;
      probes.push_back(after);
    }
  }
  CaseResult result{c, majorityWindow(probes), {}};
  for (Entrant& entrant : entrants) {
    if (entrant.contender == nullptr) continue;
    Measured& measured = result.measured.emplace_back(
        Measured{entrant.contender->name(), entrant.contender->role(), entrant.iterations, entrant.wrong,
                 estimate(entrant.samples, result.window)});
    if (!entrant.apart.empty()) measured.apart = estimate(entrant.apart, result.window);
    attempt(entrant.contender, c, [&] { entrant.contender->prepare(0); });
  }
  return result;
}

}  // namespace xylem::bench
