#pragma once
// Which sanitizers the build has, as cmake/xylem_flags.cmake says: some of what tests expect takes longer under them, or
// is out of their sight. A test program may itself be compiled without.

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

}  // namespace xylem::testing
