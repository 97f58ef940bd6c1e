#include "runtime/sockets/arrival.h"

#include <cerrno>

namespace xylem {

Arrival noArrival(int error) {
  const bool full = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  return {full ? Arrival::Kind::kNoDescriptors : Arrival::Kind::kNobody};
}

}  // namespace xylem
