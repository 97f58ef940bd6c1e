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

// Of many machines that take the same ways through the code, how far apart those are that a test tries: a sanitizer finds in
// some of them what it would find in all, and takes many times as long.
constexpr int kMachineStride = kSanitized ? 4 : 1;

}  // namespace xylem::testing
