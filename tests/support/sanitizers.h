#pragma once
// Which sanitizers a test is built with: some of what tests expect takes longer under them, or is out of their sight.

namespace xylem::testing {

#if defined(__has_feature)
#define XYLEM_HAS_FEATURE(feature) __has_feature(feature)
#else
#define XYLEM_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || XYLEM_HAS_FEATURE(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || XYLEM_HAS_FEATURE(address_sanitizer)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

#undef XYLEM_HAS_FEATURE

constexpr bool kSanitized = kThreadSanitizer || kAddressSanitizer;

}  // namespace xylem::testing
