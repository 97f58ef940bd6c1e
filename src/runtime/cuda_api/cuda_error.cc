#include "runtime/cuda_api/cuda_error.h"

#include <iterator>

namespace xylem::cuda_api {
namespace {

#define XYLEM_ERROR_TEXT(NAME, NUMBER, TEXT) {NUMBER, #NAME, TEXT},
constexpr ErrorText kTexts[] = {XYLEM_CUDA_ERRORS(XYLEM_ERROR_TEXT)};
#undef XYLEM_ERROR_TEXT

}  // namespace

const ErrorText& errorText(int error) {
  for (const ErrorText& entry : kTexts)
    if (entry.error == error) return entry;
  return kTexts[std::size(kTexts) - 1];
}

}  // namespace xylem::cuda_api
