#pragma once
// One rank's part of a collective where it reaches everybody's buffers: it reads its share of the elements
// from all inputs and writes the results into all outputs.
//
//   here.start(work, rank, inputs, outputs, factors);
//   while (!here.piece()) ...

#include <span>
#include <vector>

#include "runtime/collectives/direct_share.h"

namespace xylem {

class DirectHere {
 public:
  // `factors`: by rank; `inputs`: likewise where the collective reduces, otherwise the one whose data this
  // rank passes on; `outputs`: those that it writes;
  // of all ranks where it passes on a block to each. What the spans refer to may go; the buffers stay.
  void start(const DirectWork& work, int rank, std::span<const std::byte* const> inputs,
             std::span<std::byte* const> outputs, std::span<const Factor> factors);
  // Goes on; whether that was all.
  bool piece();

 private:
  void reduce(std::size_t at, std::size_t n);
  void copy(std::size_t at, std::size_t bytes) const;

  DirectWork work_;
  int rank_ = 0;
  std::vector<const std::byte*> inputs_, sources_;
  std::vector<std::byte*> outputs_, places_;
  std::vector<Factor> factors_;
  std::size_t begin_ = 0, end_ = 0;  // what is left of the share, elements
  bool streaming_ = false;
};

}  // namespace xylem
