#include "insight/optimum/packing.h"

#include <ClpFactorization.hpp>
#include <ClpSimplex.hpp>
#include <algorithm>

namespace xylem::optimum {
namespace {

// A channel becomes a column if it costs less than 1 by at least this.
constexpr double kMinGain = 1e-7;
// Columns added in one round.
constexpr std::size_t kMaxOffers = 6;
constexpr int kMaxRounds = 2000;

}  // namespace

Packing::Packing(Pricing& pricing) : pricing_(pricing), program_(std::make_unique<ClpSimplex>()) {
  program_->setLogLevel(0);
  // The factorization keeps its arrays from one solution to the next: taking fresh ones took a tenth of the time.
  program_->factorization()->setPersistenceFlag(1);
  program_->resize(pricing.capacities().rows(), 0);
  for (int row = 0; row < pricing.capacities().rows(); ++row) program_->setRowLower(row, -COIN_DBL_MAX);
}

Packing::~Packing() = default;

double Packing::amount(int i) const { return program_->primalColumnSolution()[i]; }

void Packing::add(const ChannelColumn& column) {
  std::vector<int> rows;
  std::vector<double> units;
  for (const Use& use : column.uses) {
    rows.push_back(use.row);
    units.push_back(use.units);
  }
  program_->addColumn(static_cast<int>(rows.size()), rows.data(), units.data(), 0, COIN_DBL_MAX,
                      -column.channels);
  columns_.push_back(column);
  open_.push_back(1);
}

// Returns false if no new channel costs less than 1: the program is then optimal over all channels.
bool Packing::addOffers(double leastGain) {
  std::size_t added = 0;
  for (const Pricing::Offer& offer : fresh_) {
    if (offer.cost > 1 - leastGain || added == kMaxOffers) break;
    if (std::find(columns_.begin(), columns_.end(), offer.column) != columns_.end()) continue;
    add(offer.column);
    ++added;
  }
  return added > 0;
}

Packing::Outcome Packing::solve(std::span<const double> freeUnits, bool whole, double needed, double enough) {
  const int rows = pricing_.capacities().rows();
  const std::vector<double> unlimited(static_cast<std::size_t>(rows), kClosed);
  pricing_.setFreeUnits(whole ? freeUnits : unlimited);
  for (int row = 0; row < rows; ++row)
    program_->setRowUpper(row, std::max(0.0, freeUnits[static_cast<std::size_t>(row)]));
  for (int i = 0; i < columns(); ++i) {
    open_[static_cast<std::size_t>(i)] = pricing_.isOpen(column(i)) ? 1 : 0;
    program_->setColumnUpper(i, isOpen(i) ? COIN_DBL_MAX : 0);
  }
  // Column generation: solve the program over the known columns, take its dual solution as prices of the
  // rows, ask for channels that cost less than 1 at these prices, and add them, until there are none.
  Outcome outcome;
  outcome.bound = kClosed;
  std::vector<double> prices(static_cast<std::size_t>(rows), 0);
  for (int round = 0; round < kMaxRounds; ++round) {
    if (columns() > 0) {
      if (round == 0)
        program_->dual();  // only bounds of rows and columns changed since the last solution
      else
        program_->primal();
      ++solved_;
      outcome.channels = -program_->objectiveValue();
      for (int row = 0; row < rows; ++row)
        prices[static_cast<std::size_t>(row)] = std::max(0.0, -program_->getRowPrice()[row]);
      if (outcome.channels >= enough) break;
    }
    fresh_ = pricing_.offers(prices);
    const double least = pricing_.atLeast();
    if (least == kClosed) {  // no channel at all
      outcome = {0, 0, std::vector<double>(static_cast<std::size_t>(rows), 0)};
      return outcome;
    }
    // The cheapest channel costs `least`. Prices raised by 1 / least make every channel cost at least 1, so
    // the cost of all free bandwidth at these prices is a valid bound in every round.
    double paid = 0;
    for (int row = 0; row < rows; ++row)
      paid += prices[static_cast<std::size_t>(row)] * std::max(0.0, freeUnits[static_cast<std::size_t>(row)]);
    const double raise = 1 / std::min(1.0, least);
    if (least > 0 && paid * raise < outcome.bound) {
      outcome.bound = paid * raise;
      outcome.prices = prices;
      for (double& price : outcome.prices) price *= raise;
    }
    if (outcome.bound < needed) break;
    if (!addOffers(kMinGain)) break;
  }
  return outcome;
}

}  // namespace xylem::optimum
