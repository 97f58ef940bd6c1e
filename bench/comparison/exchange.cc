#include "comparison/exchange.h"

namespace xylem::bench {

Exchange exchangeOf(const Case& c) {
  Exchange exchange;
  for (int sender = 0; sender < 2; ++sender)
    for (const Piece& piece : piecesOf(c, 1 - sender))
      if (piece.source == sender || piece.source == Piece::kAllRanks)
        exchange.from[static_cast<std::size_t>(sender)] = {piece.from, piece.count};
  return exchange;
}

}  // namespace xylem::bench
