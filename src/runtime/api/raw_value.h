#pragma once
// The number in an enumeration that came from a C program, where it may be any number at all.
//
//   const int type = rawValue(datatype);

#include <cstring>

namespace xylem {

template <typename Enumeration>
int rawValue(const Enumeration& value) {
  static_assert(sizeof value == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

}  // namespace xylem
