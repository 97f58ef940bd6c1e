// The C half of this test is header_c99.c.

#include <gtest/gtest.h>

extern "C" int headerConfigIsUntouched(void);

TEST(Header, InitializersWorkInC) { EXPECT_TRUE(headerConfigIsUntouched()); }
