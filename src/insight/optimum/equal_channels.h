#pragma once
// Finds the number of whole, equally fast channels that have the most bandwidth together.
//
//   EqualChannels search(program);
//   const auto result = search.run({.maxChannels = 32, .fastest = 48, .above = 96, .work = 1'000'000});
//   result.sets.front().columns ...     // `sets` is empty if no set exceeds 96 GB/s in total
//
// The best channels fill up some link, so their bandwidth is that link's divided by the units they take of
// it: there is a finite list of bandwidths to try. Pairs of a number of channels and a bandwidth are tried
// from the greatest total down. For each, a linear program bounds the number of channels, with the free units
// of every link rounded down to what whole channels can take. A dive then fixes channels one by one until all
// are found.

#include <map>

#include "insight/optimum/packing.h"

namespace xylem::optimum {

struct ChannelSet {
  int channels = 0;
  double bandwidth = 0;  // GB/s, of each
  std::vector<ChannelColumn> columns;

  double total() const { return channels * bandwidth; }
};

class EqualChannels {
 public:
  explicit EqualChannels(HostProgram& program) : program_(program) {}

  struct Request {
    int minChannels = 1, maxChannels = 32;
    double fastest = 0;     // GB/s, of each
    double above = 0;       // GB/s: only sets with a greater total matter
    std::int64_t work = 0;  // limit, in steps of Packing::work()
  };
  struct Result {
    std::vector<ChannelSet> sets;  // about as good as the best, with different numbers of channels
    double ceiling = 0;            // GB/s that no set exceeds in total, as far as was tried
  };
  Result run(const Request& request);

 private:
  struct Bandwidth {
    double value = 0;  // GB/s
    std::vector<double> freeUnits;
    int maxChannels = -1;  // upper bound on the number of channels; -1: unknown
  };

  void listBandwidths(const Request& request);
  int maxChannelsAt(Bandwidth& bandwidth, int needed);
  bool dive(std::vector<double>& freeUnits, int left, ChannelSet& set);
  bool takeOne(std::vector<double>& freeUnits, int left, ChannelSet& set, const ChannelColumn& column);
  void keepPart(const ChannelSet& set);

  HostProgram& program_;
  std::vector<Bandwidth> bandwidths_;  // greatest first
  std::vector<std::vector<double>> prices_;
  std::int64_t divesLeft_ = 0;
  ChannelSet part_;  // the best partial set of all dives
};

}  // namespace xylem::optimum
