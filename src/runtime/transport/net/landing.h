#pragma once
// Where the payload of a message that is under way shall end, so that it need not come by a slot. It holds
// for one call: in between, what arrives goes to the slot, at the same offset, and from then on all that
// follows.
//
//   Landing landing{out, bytes};
//   while (!receiver.testInto(request, landing)) ...      // the first landing.landed bytes lie in `out`,
//   std::memcpy(out + landing.landed, slot + landing.landed, bytes - landing.landed);       // the others
//   here

#include <cstddef>

namespace xylem {

struct Landing {
  std::byte* data = nullptr;  // null: nowhere
  std::size_t bytes = 0;      // of the whole message; a message of another length does not land
  std::size_t landed = 0;     // kept from call to call
};

}  // namespace xylem
