#pragma once
// How the test's net plugin misbehaves, by the environment, looked at each time something is made.
//
//   TEST_NET_DEVICES=0        it has so many devices (1)
//   TEST_NET_INIT=2           init gives that result (0)
//   TEST_NET_SLOW=20          so many looks at a request, once it is through, before test says so (0)
//   TEST_NET_PART=7           at most so many bytes at a time (all)
//   TEST_NET_BUSY=3           isend and irecv do not take that many calls in a row between two that they take
//   (0) TEST_NET_LATE=5           connect and accept are not through before that many calls (0)
//   TEST_NET_BREAK_AFTER=10   each sender's isend of that number fails as broken (never)
//   TEST_NET_POINTERS=2       what memory it takes (1: the host's)
//   TEST_NET_NO_HANDLES=1     registered memory is null (0)
//   TEST_NET_MISSING=1        there is no isend (0)
//
// Of its network that reduces:
//
//   TEST_COLL_DEVICES=0       it has so many devices (1)
//   TEST_COLL_INIT=2          init gives that result (0)
//   TEST_COLL_CONNECT=6       connect gives that result at once (0)
//   TEST_COLL_HANG=1          connect of the member of that number never returns (none)
//   TEST_COLL_NOT=2           it does not do this operation (all)
//   TEST_COLL_SLOW=20         so many looks at a request, once it is through, before test says so (0)
//   TEST_COLL_BUSY=3          iallreduce does not take that many calls between two that it takes (0)
//   TEST_COLL_BREAK_AFTER=10  the iallreduce of that number breaks the connections (never)
//   TEST_COLL_BREAK=3         and gives this result (6)
//   TEST_COLL_MAX=1024        so many bytes at once (all), from version 9 on

#include <cstdlib>

namespace test_net {

inline long fault(const char* name, long otherwise = 0) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

}  // namespace test_net
