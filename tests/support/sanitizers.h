#pragma once
// The sanitizers of the build, as cmake/xylem_flags.cmake sets them: under them some things that tests expect
// take longer, or cannot be seen. A test program may itself be compiled without.

namespace xylem::testing {

#if defined(XYLEM_THREAD_SANITIZER)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

#if defined(XYLEM_ADDRESS_SANITIZER)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

constexpr bool kSanitized = kThreadSanitizer || kAddressSanitizer;

// A test of many machines tries each of them, and every fourth under a sanitizer: that takes many times as long, and finds in
// some machines what it would find in all.
constexpr int kMachineStride = kSanitized ? 4 : 1;

}  // namespace xylem::testing
