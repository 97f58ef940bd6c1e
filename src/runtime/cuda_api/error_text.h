#pragma once
// Names and sentences of errors.
//
//   errorText(cudaErrorNotReady).name   ->   "cudaErrorNotReady"

namespace xylem {

struct ErrorText {
  int error;
  const char* name;
  const char* text;
};

// That of cudaErrorUnknown for a number that is none.
const ErrorText& errorText(int error);

}  // namespace xylem
