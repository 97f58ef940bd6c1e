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

#include <cstdlib>

namespace test_net {

inline long fault(const char* name, long otherwise = 0) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

}  // namespace test_net
