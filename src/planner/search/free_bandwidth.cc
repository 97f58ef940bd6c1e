#include "planner/search/free_bandwidth.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "planner/search/search_memo.h"

namespace xylem::search {
namespace {

constexpr float kEighth = 1.0f / 8.0f;
// Below this, in GB/s, a float subtraction of whole thousandths rounds to the right thousandth.
constexpr float kExactBelow = 8000.0f;

float roundMilli(float x) { return std::round(x * 1000.0f) / 1000.0f; }

bool isMilli(float x) { return std::fabs(x) < kExactBelow && roundMilli(x) == x; }

std::int32_t toMilli(float x) { return static_cast<std::int32_t>(std::lround(x * 1000.0f)); }

}  // namespace

Load::Load(float bandwidth, unsigned shares) {
  const float pci = bandwidth * 6.0f / 5.0f;  // two roundings, as in NCCL
  amounts_ = {bandwidth, pci, bandwidth * kEighth, pci * kEighth};
  exact_ = isMilli(bandwidth);
  const auto whole = exact_ ? static_cast<std::uint64_t>(toMilli(bandwidth)) : 0;
  for (std::size_t i = 0; i < amounts_.size() && exact_; ++i) {
    if (i > 0 && (shares >> i & 1u) == 0) continue;
    milli_[i] = toMilli(amounts_[i]);
    exact_ = isMilli(amounts_[i]) &&
             static_cast<std::uint64_t>(milli_[i]) * kShareUnits[0] == whole * kShareUnits[i];
  }
}

FreeBandwidth::FreeBandwidth(std::span<const topology::Link> links)
    : milli_(links.size()), values_(links.size()) {
  for (std::size_t i = 0; i < links.size(); ++i) set(static_cast<topology::LinkId>(i), links[i].bandwidth);
}

float FreeBandwidth::of(topology::LinkId link) const {
  const auto i = static_cast<std::size_t>(link);
  return milli_[i] == kOdd ? values_[i] : static_cast<float>(milli_[i]) / 1000.0f;
}

void FreeBandwidth::set(topology::LinkId link, float value) {
  const auto i = static_cast<std::size_t>(link);
  if (milli_[i] == kOdd) --odd_;
  values_[i] = value;
  milli_[i] = isMilli(value) ? toMilli(value) : kOdd;
  if (milli_[i] == kOdd) ++odd_;
}

std::uint64_t FreeBandwidth::hash() const {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < milli_.size(); ++i) {
    const bool odd = milli_[i] == kOdd;
    hash = mixHash(hash, odd ? std::uint64_t{std::bit_cast<std::uint32_t>(values_[i])} << 32
                             : static_cast<std::uint32_t>(milli_[i]));
  }
  return hash;
}

bool FreeBandwidth::anyOdd(std::span<const RouteStep> steps) const {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const RouteStep& step) { return milliOf(step.link) == kOdd; });
}

bool FreeBandwidth::takeInOrder(std::span<const RouteStep> steps, const Load& load) {
  for (std::size_t i = 0; i < steps.size();) {
    const std::size_t end = i + (steps[i].withNext ? 2 : 1);
    for (std::size_t s = i; s < end; ++s) {
      if (!(of(steps[s].link) < load.amount(steps[s].share))) continue;
      giveBackRounded(steps.first(i), load);
      return false;
    }
    for (; i < end; ++i) set(steps[i].link, roundMilli(of(steps[i].link) - load.amount(steps[i].share)));
  }
  return true;
}

void FreeBandwidth::giveBackRounded(std::span<const RouteStep> steps, const Load& load) {
  for (const RouteStep& step : steps) set(step.link, roundMilli(of(step.link) + load.amount(step.share)));
}

}  // namespace xylem::search
