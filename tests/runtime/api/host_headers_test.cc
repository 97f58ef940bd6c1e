// The headers of include/host without the library: small floats, vectors and complex numbers. The expected bits
// are those of the formats (IEEE 754's half, bfloat16, and the 8-bit formats of the Open Compute Project).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "host/cuComplex.h"
#include "host/cuda_bf16.h"
#include "host/cuda_fp16.h"
#include "host/cuda_fp4.h"
#include "host/cuda_fp6.h"
#include "host/cuda_fp8.h"
#include "host/cuda_runtime.h"
#include "host/library_types.h"
#include "host/math_constants.h"
#include "host/nvtx3/nvtx3.hpp"

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
  EXPECT_EQ(__nv_cvt_float_to_fp8(-NAN, __NV_SATFINITE, __NV_E5M2), 0x7f);
  EXPECT_EQ(__nv_fp8_e4m3(-NAN).__x, 0x7f);
  EXPECT_EQ(__nv_cvt_float2_to_fp8x2(make_float2(1, 2), __NV_SATFINITE, __NV_E4M3), 0x4038);
}

// The numbers of the formats, in order of their bits.
TEST(HostHeaders, FloatsOfFourAndSixBits) {
  const float four[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (unsigned bits = 0; bits < 16; ++bits) {
    const float value = __half(__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(bits), __NV_E2M1));
    EXPECT_EQ(value, bits < 8 ? four[bits] : -four[bits - 8]);
    EXPECT_EQ(__nv_fp4_e2m1(value).__x, bits);
  }
  for (unsigned bits = 0; bits < 64; ++bits)
    for (const auto format : {__NV_E2M3, __NV_E3M2}) {
      const auto stored = static_cast<__nv_fp6_storage_t>(bits);
      const float value = __half(__nv_cvt_fp6_to_halfraw(stored, format));
      EXPECT_EQ(__nv_cvt_float_to_fp6(value, format, cudaRoundNearest), stored);
    }
  EXPECT_EQ(static_cast<float>(__nv_fp6_e2m3(100)), 7.5f) << "the largest one";
  EXPECT_EQ(static_cast<double>(__nv_fp6_e3m2(-HUGE_VALF)), -28.0);
  EXPECT_EQ(static_cast<int>(__nv_fp6_e3m2(0.0625f)), 0);
  EXPECT_EQ(__nv_fp6_e3m2(0.0625f).__x, 1u) << "the smallest one";
}

TEST(HostHeaders, FloatsOfFourBitsRoundAsAsked) {
  const auto rounded = [](float value, cudaRoundMode mode) {
    return __nv_cvt_float_to_fp4(value, __NV_E2M1, mode);
  };
  EXPECT_EQ(rounded(2.5f, cudaRoundNearest), 4u) << "a tie goes to the even neighbour, 2";
  EXPECT_EQ(rounded(3.5f, cudaRoundNearest), 6u);
  EXPECT_EQ(rounded(3.9f, cudaRoundZero), 5u);
  EXPECT_EQ(rounded(3.1f, cudaRoundPosInf), 6u);
  EXPECT_EQ(rounded(-3.1f, cudaRoundPosInf), 0xdu);
  EXPECT_EQ(rounded(-3.1f, cudaRoundMinInf), 0xeu);
  EXPECT_EQ(rounded(NAN, cudaRoundNearest), 7u) << "the largest one, as there is none that is not a number";
  EXPECT_EQ(rounded(-0.0f, cudaRoundNearest), 8u);
}

TEST(HostHeaders, SeveralSmallFloatsShareAnInteger) {
  const __nv_fp4x2_e2m1 two(make_float2(1, -6));
  EXPECT_EQ(two.__x, 0xf2u);
  EXPECT_EQ(static_cast<float2>(two).y, -6.0f);
  EXPECT_EQ(__nv_cvt_float2_to_fp4x2(make_float2(1, -6), __NV_E2M1, cudaRoundNearest), two.__x);
  EXPECT_EQ(__nv_fp4x4_e2m1(make_float4(0.5f, 1, 1.5f, 2)).__x, 0x4321u);
  EXPECT_EQ(__nv_fp6x2_e2m3(make_float2(0.125f, 0.25f)).__x, 0x0201u);
  const __nv_fp8x4_e4m3 four(make_float4(1, 2, -1, 0));
  EXPECT_EQ(four.__x, 0x00b84038u);
  EXPECT_EQ(static_cast<float4>(four).z, -1.0f);
  EXPECT_EQ(__half22float2(static_cast<__half2>(__nv_fp8x2_e5m2(make_float2(0.5f, 3)))).y, 3.0f);
  EXPECT_EQ(__nv_cvt_fp8x2_to_halfraw2(0x4038, __NV_E4M3).y, 0x4000u);
  EXPECT_EQ(sizeof(__nv_fp4x4_e2m1), 2u);
  EXPECT_EQ(sizeof(__nv_fp6x4_e3m2), 4u);
}

TEST(HostHeaders, Constants) {
  EXPECT_DOUBLE_EQ(CUDART_PI, std::acos(-1.0));
  EXPECT_FLOAT_EQ(CUDART_SQRT_TWO_F, std::sqrt(2.0f));
  EXPECT_EQ(CUDART_PIO2_HI, CUDART_PIO2);
  EXPECT_LT(CUDART_SQRT_HALF_LO, 0.0);
  EXPECT_TRUE(std::isinf(CUDART_INF_F) && std::isnan(CUDART_NAN));
}

struct Loading {
  static constexpr const char* name = "loading";
  static constexpr std::uint32_t id = 7;
};
int ranged(bool wanted) {
  NVTX3_FUNC_RANGE_IF(wanted);
  const nvtx3::scoped_range range{"all-reduce", nvtx3::rgb{1, 2, 3}, nvtx3::payload{8.0}};
  return nvtxRangePop();
}

TEST(HostHeaders, RangesDoNothing) {
  EXPECT_EQ(ranged(true), NVTX_NO_PUSH_POP_TRACKING);
  const nvtx3::event_attributes event{nvtx3::argb{4, 1, 2, 3}, "hello", nvtx3::payload{std::uint64_t{9}},
                                      nvtx3::named_category::get<Loading>()};
  const nvtxEventAttributes_t& written = *event.get();
  EXPECT_EQ(written.size, 48);
  EXPECT_EQ(written.color, 0x04010203u);
  EXPECT_EQ(written.payload.ullValue, 9u);
  EXPECT_EQ(written.category, 7u);
  EXPECT_STREQ(written.message.ascii, "hello");
  EXPECT_EQ(nvtxRangePushEx(&written), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(nvtxDomainCreateA("trainer"), nullptr);
  nvtx3::end_range(nvtx3::start_range("step"));
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
