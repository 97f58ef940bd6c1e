// The headers of include/host without the library: small floats, vectors and complex numbers. The expected bits
// are those of the formats (IEEE 754's half, bfloat16, and the 8-bit formats of the Open Compute Project).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "host/cuComplex.h"
#include "host/cuda_bf16.h"
#include "host/cuda_fp16.h"
#include "host/cuda_fp8.h"
#include "host/cuda_runtime.h"
#include "host/library_types.h"

namespace {

unsigned bitsOf(__half value) { return __half_raw(value).x; }
unsigned bitsOf(__nv_bfloat16 value) { return __nv_bfloat16_raw(value).x; }
__half halfOf(unsigned bits) {
  __half_raw raw;
  raw.x = static_cast<unsigned short>(bits);
  return raw;
}

TEST(HostHeaders, HalvesRoundToEven) {
  EXPECT_EQ(bitsOf(__float2half(1.0f)), 0x3c00u);
  EXPECT_EQ(bitsOf(__float2half(1.0f + 0x1p-11f)), 0x3c00u) << "a tie goes to the even neighbour";
  EXPECT_EQ(bitsOf(__float2half(1.0f + 0x3p-11f)), 0x3c02u);
  EXPECT_EQ(bitsOf(__double2half(1.0 + 0x1p-11 + 0x1p-40)), 0x3c01u)
      << "a double is not rounded to float first";
  EXPECT_EQ(bitsOf(__float2half(0x1p-25f)), 0u);
  EXPECT_EQ(bitsOf(__float2half(0x3p-26f)), 1u) << "the smallest number";
  EXPECT_EQ(bitsOf(__float2half(65519.0f)), 0x7bffu);
  EXPECT_EQ(bitsOf(__float2half(-65520.0f)), 0xfc00u);
  EXPECT_EQ(bitsOf(__ull2half_rn(2049)), 0x6800u);
  EXPECT_EQ(bitsOf(__float2bfloat16(1.0f + 0x1p-8f)), 0x3f80u);
  EXPECT_EQ(bitsOf(__double2bfloat16(-3.0)), 0xc040u);
}

TEST(HostHeaders, EveryNumberOfAFormatComesBack) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float half = halfOf(bits);
    if (half == half) {
      ASSERT_EQ(bitsOf(__float2half(half)), bits);
    }
  }
  for (unsigned bits = 0; bits < 0x100; ++bits)
    for (const auto format : {__NV_E4M3, __NV_E5M2}) {
      const auto stored = static_cast<__nv_fp8_storage_t>(bits);
      const float value = __half(__nv_cvt_fp8_to_halfraw(stored, format));
      if (std::isfinite(value)) {
        ASSERT_EQ(__nv_cvt_float_to_fp8(value, __NV_NOSAT, format), stored);
      }
    }
}

TEST(HostHeaders, FloatsOfEightBitsSaturateOrNot) {
  EXPECT_EQ(__nv_cvt_float_to_fp8(1000.0f, __NV_SATFINITE, __NV_E4M3), 0x7e);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1000.0f, __NV_NOSAT, __NV_E4M3), 0x7f);
  EXPECT_EQ(__nv_cvt_float_to_fp8(-1e6f, __NV_SATFINITE, __NV_E5M2), 0xfb);
  EXPECT_EQ(__nv_cvt_float_to_fp8(-1e6f, __NV_NOSAT, __NV_E5M2), 0xfc);
  EXPECT_EQ(__nv_cvt_float2_to_fp8x2(make_float2(1, 2), __NV_SATFINITE, __NV_E4M3), 0x4038);
}

TEST(HostHeaders, EachOperationIsRounded) {
  EXPECT_EQ(bitsOf(__hadd(__float2half(2048), __float2half(1))), bitsOf(__float2half(2048)));
  EXPECT_EQ(bitsOf(__hfma(__float2half(2048), __float2half(1), __float2half(3))), bitsOf(__float2half(2052)));
  const __half none = halfOf(0x7e00);
  EXPECT_EQ(static_cast<float>(__hmax(none, __float2half(-1))), -1.0f) << "the other one is the greater";
  EXPECT_FALSE(__heq(none, none));
  EXPECT_FALSE(__hne(none, none)) << "ordered: false if one is not a number";
  const __half2 pair = __hadd2(__float22half2_rn(make_float2(1, 2)), __half2half2(__float2half(3)));
  EXPECT_EQ(__half22float2(pair).y, 5.0f);
  union {
    __half half;
    std::uint16_t bits;
  } trivial;
  trivial.half = 1.5f;
  EXPECT_EQ(trivial.bits, 0x3e00);
}

TEST(HostHeaders, ComplexNumbers) {
  const cuDoubleComplex quotient = cuCdiv(make_cuDoubleComplex(-5, 10), make_cuDoubleComplex(1, 2));
  EXPECT_DOUBLE_EQ(cuCreal(quotient), 3.0);
  EXPECT_DOUBLE_EQ(cuCimag(quotient), 4.0);
  EXPECT_DOUBLE_EQ(cuCabs(quotient), 5.0);
  const cuComplex product = cuCmulf(make_cuComplex(1, 2), cuConjf(make_cuComplex(3, 4)));
  EXPECT_EQ(product.x, 11.0f);
  EXPECT_EQ(product.y, 2.0f);
}

TEST(HostHeaders, TypesOfLibraries) {
  const cudaDataType type = CUDA_R_16BF;
  EXPECT_EQ(type, 14);
  EXPECT_EQ(CUDA_R_8F_UE4M3, CUDA_R_8F_E4M3);
  EXPECT_EQ(alignof(double4_32a), 32u);
}

}  // namespace
