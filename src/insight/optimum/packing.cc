#include "insight/optimum/packing.h"

#include <ClpSimplex.hpp>
#include <algorithm>

namespace xylem {
namespace {

// A channel is worth adding if it costs so much less than one.
constexpr double kLeastGain = 1e-7;
// Of one pricing.
constexpr std::size_t kMostOffers = 6;
constexpr int kMostRounds = 2000;

}  // namespace

Packing::Packing(Pricing& pricing) : pricing_(pricing), program_(std::make_unique<ClpSimplex>()) {
  program_->setLogLevel(0);
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

// False: nothing is left that costs less than it is worth.
bool Packing::addOffers(double leastGain) {
  std::size_t added = 0;
  for (const Pricing::Offer& offer : fresh_) {
    if (offer.cost > 1 - leastGain || added == kMostOffers) break;
    if (std::find(columns_.begin(), columns_.end(), offer.column) != columns_.end()) continue;
    add(offer.column);
    ++added;
  }
  return added > 0;
}

Packing::Outcome Packing::solve(std::span<const double> room, bool whole, double needed, double enough) {
  const int rows = pricing_.capacities().rows();
  const std::vector<double> unlimited(static_cast<std::size_t>(rows), kClosed);
  pricing_.setRoom(whole ? room : unlimited);
  for (int row = 0; row < rows; ++row)
    program_->setRowUpper(row, std::max(0.0, room[static_cast<std::size_t>(row)]));
  for (int i = 0; i < columns(); ++i) {
    open_[static_cast<std::size_t>(i)] = pricing_.isOpen(column(i)) ? 1 : 0;
    program_->setColumnUpper(i, isOpen(i) ? COIN_DBL_MAX : 0);
  }
  Outcome outcome;
  outcome.bound = kClosed;
  std::vector<double> prices(static_cast<std::size_t>(rows), 0);
  for (int round = 0; round < kMostRounds; ++round) {
    if (columns() > 0) {
      if (round == 0)
        program_->dual();
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
    // Prices that are too low for some channel prove as much when raised until it is worth them.
    double paid = 0;
    for (int row = 0; row < rows; ++row)
      paid += prices[static_cast<std::size_t>(row)] * std::max(0.0, room[static_cast<std::size_t>(row)]);
    const double raise = 1 / std::min(1.0, least);
    if (least > 0 && paid * raise < outcome.bound) {
      outcome.bound = paid * raise;
      outcome.prices = prices;
      for (double& price : outcome.prices) price *= raise;
    }
    if (outcome.bound < needed) break;
    if (!addOffers(kLeastGain)) break;
  }
  return outcome;
}

}  // namespace xylem
