#pragma once
// The number in an enumeration that a C program passed, which may be any number.
//
//   const int type = rawValue(datatype);

#include <cstring>

namespace xylem::api {

template <typename Enumeration>
int rawValue(const Enumeration& value) {
  static_assert(sizeof value == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

}  // namespace xylem::api
