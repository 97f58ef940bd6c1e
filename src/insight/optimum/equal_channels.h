#pragma once
// Whole channels, all equally fast: which number of them has most bandwidth together.
//
//   EqualChannels search(program);
//   EqualChannels::Result result = search.run({.most = 32, .fastest = 48, .above = 96});
//   result.sets.front().columns ...     // nothing there: none has more than 96 GB/s together
//
// The bandwidth of the best channels is that of some link, divided by what they take of it, so there is a
// list of bandwidths to try. They are tried from the greatest total down. A linear program tells for each how
// many channels there can be at most, with the room on every link rounded down to what whole channels can
// take; a dive into it, channel by channel, looks for as many.

#include <map>

#include "insight/optimum/host_program.h"

namespace xylem {

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
    int fewest = 1, most = 32;
    double fastest = 0;     // GB/s, of each
    double above = 0;       // GB/s: sets that have no more together do not matter
    std::int64_t work = 0;  // how much may be spent
  };
  struct Result {
    std::vector<ChannelSet> sets;  // as good as the best, by different numbers of channels
    double ceiling = 0;            // GB/s: no channels have more together
  };
  Result run(const Request& request);

 private:
  struct Bandwidth {
    double value = 0;  // GB/s
    std::vector<double> room;
    int most = -1;  // channels, as far as is known; -1: not yet looked at
  };

  void listBandwidths(const Request& request);
  int mostAt(Bandwidth& bandwidth, int needed);
  bool dive(std::vector<double>& room, int left, ChannelSet& set);
  bool takeOne(std::vector<double>& room, int left, ChannelSet& set, const ChannelColumn& column);
  void keepPart(const ChannelSet& set);

  HostProgram& program_;
  std::vector<Bandwidth> bandwidths_;  // greatest first
  std::vector<std::vector<double>> prices_;
  std::int64_t divesLeft_ = 0;
  ChannelSet part_;  // the best set that a dive left behind
};

}  // namespace xylem
