#pragma once
// Faults of the test's net plugin, set by environment variables, which it reads each time it makes something.
// Defaults are in parentheses.
//
//   TEST_NET_DEVICES=0        the number of devices (1)
//   TEST_NET_INIT=2           the result of init (0)
//   TEST_NET_SLOW=20          calls of test that a finished request still takes (0)
//   TEST_NET_PART=7           bytes that are moved at a time, at most (all)
//   TEST_NET_BUSY=3           isend and irecv refuse this many calls between two that they accept (0)
//   TEST_NET_LATE=5           connect and accept need more than this many calls (0)
//   TEST_NET_ACCEPT_WAITS=1   accept waits until there is a connection, or this is 0 (0)
//   TEST_NET_BREAK_AFTER=10   the isend of this number breaks the connection, for each sender (never)
//   TEST_NET_POINTERS=2       the kinds of memory that it takes (1: the host's; 2: a GPU's, 4: the same as DMA-BUF)
//   TEST_NET_HOLDS=1          what has arrived for a GPU's memory is there only after iflush (0)
//   TEST_NET_FORCE_FLUSH=1    its devices ask for iflush after every receive; from version 9 on (0)
//   TEST_NET_NO_HANDLES=1     handles of registered memory are null (0)
//   TEST_NET_SPEED=400000     the devices' speed in Mbit/s (25000 and more)
//   TEST_NET_NAME=5000        the length of the devices' names, 5 or 5000; 0: they have none (5)
//   TEST_NET_MAX=65536        bytes of a message, at most; from version 9 on (all)
//   TEST_NET_LISTEN=3         the result of listen (0)
//   TEST_NET_MISSING=1        there is no isend (0)
//   TEST_NET_NO_FLUSH=1       there is no iflush (0)
//
// Faults of its network that reduces:
//
//   TEST_COLL_DEVICES=0       the number of devices (1)
//   TEST_COLL_INIT=2          the result of init (0)
//   TEST_COLL_CONNECT=6       connect returns this result at once (0)
//   TEST_COLL_HANG=1          connect never returns to the member of this number (none)
//   TEST_COLL_SUPPORT=3       the result of reduceSupport, which then says nothing (0)
//   TEST_COLL_NONE=1          reduceSupport answers that it does nothing (0)
//   TEST_COLL_NO_NAME=1       its devices have no names (0)
//   TEST_COLL_NOT=2           an operation that it does not do (none)
//   TEST_COLL_SLOW=20         calls of test that a finished request still takes (0)
//   TEST_COLL_BUSY=3          iallreduce refuses this many calls between two that it accepts (0)
//   TEST_COLL_BREAK_AFTER=10  the iallreduce of this number breaks the connections (never)
//   TEST_COLL_BREAK=3         and returns this result (6)
//   TEST_COLL_MAX=1024        bytes of a reduction, at most (all); from version 9 on

#include <cstdlib>

namespace test_net {

inline long fault(const char* name, long otherwise = 0) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

}  // namespace test_net
