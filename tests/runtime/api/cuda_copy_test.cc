// Copies and memsets of boxes, and batches of copies.

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "host/cuda_runtime.h"

namespace {

class Copies : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess); }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    cudaGetLastError();
  }
  cudaStream_t stream_ = nullptr;
};

// A box of 3 x 2 x 2 bytes out of one of 8 x 4 x 3, into one of 5 x 3 x 2.
struct Box {
  std::vector<unsigned char> from = std::vector<unsigned char>(8 * 4 * 3);
  std::vector<unsigned char> to = std::vector<unsigned char>(5 * 3 * 2, 0xff);
  cudaMemcpy3DParms parameters{};

  Box() {
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
    parameters.srcPtr = {from.data(), 8, 8, 4};
    parameters.srcPos = {2, 1, 1};
    parameters.dstPtr = {to.data(), 5, 5, 3};
    parameters.dstPos = {1, 1, 0};
    parameters.extent = {3, 2, 2};
    parameters.kind = cudaMemcpyHostToDevice;
  }
  void expectCopied() const {
    for (std::size_t z = 0; z < 2; ++z)
      for (std::size_t y = 0; y < 3; ++y)
        for (std::size_t x = 0; x < 5; ++x) {
          const bool inside = x >= 1 && x < 4 && y >= 1;
          const auto source = static_cast<unsigned char>((z + 1) * 32 + y * 8 + x + 1);
          EXPECT_EQ(to[z * 15 + y * 5 + x], inside ? source : 0xff) << x << "," << y << "," << z;
        }
  }
};

TEST_F(Copies, OfABox) {
  Box box;
  EXPECT_EQ(cudaMemcpy3D(&box.parameters), cudaSuccess);
  box.expectCopied();
  Box other;
  EXPECT_EQ(cudaMemcpy3DAsync(&other.parameters, stream_), cudaSuccess);
  // The program's memory may change at once.
  other.from.assign(other.from.size(), 0);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  other.expectCopied();
  Box peer;
  cudaMemcpy3DPeerParms both{};
  both.srcPtr = peer.parameters.srcPtr;
  both.srcPos = peer.parameters.srcPos;
  both.dstPtr = peer.parameters.dstPtr;
  both.dstPos = peer.parameters.dstPos;
  both.extent = peer.parameters.extent;
  EXPECT_EQ(cudaMemcpy3DPeerAsync(&both, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  peer.expectCopied();
}

TEST_F(Copies, BoxesThatAreNone) {
  Box box;
  EXPECT_EQ(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
  box.parameters.srcArray = reinterpret_cast<cudaArray_t>(&box);
  EXPECT_EQ(cudaMemcpy3D(&box.parameters), cudaErrorNotSupported);
  box.parameters.srcArray = nullptr;
  box.parameters.srcPtr.pitch = 2;
  EXPECT_EQ(cudaMemcpy3D(&box.parameters), cudaErrorInvalidPitchValue);
  box.parameters.srcPtr.pitch = 8;
  box.parameters.dstPtr.ysize = 1;
  EXPECT_EQ(cudaMemcpy3D(&box.parameters), cudaErrorInvalidValue) << "slices that overlap";
  box.parameters.extent.depth = 0;
  EXPECT_EQ(cudaMemcpy3D(&box.parameters), cudaSuccess) << "nothing";
  EXPECT_EQ(box.to[6], 0xff);
}

TEST_F(Copies, MemsetOfABox) {
  cudaPitchedPtr memory{};
  ASSERT_EQ(cudaMalloc3D(&memory, {10, 3, 2}), cudaSuccess);
  EXPECT_GE(memory.pitch, 10u);
  EXPECT_EQ(memory.ysize, 3u);
  ASSERT_EQ(cudaMemset3D(memory, 1, {10, 3, 2}), cudaSuccess);
  ASSERT_EQ(cudaMemset3DAsync(memory, 2, {4, 2, 2}, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  const auto at = [&](std::size_t x, std::size_t y, std::size_t z) {
    return static_cast<unsigned char*>(memory.ptr)[(z * 3 + y) * memory.pitch + x];
  };
  for (std::size_t z = 0; z < 2; ++z)
    for (std::size_t y = 0; y < 3; ++y)
      for (std::size_t x = 0; x < 10; ++x) EXPECT_EQ(at(x, y, z), x < 4 && y < 2 ? 2 : 1);
  EXPECT_EQ(cudaFree(memory.ptr), cudaSuccess);
}

TEST_F(Copies, ABatch) {
  std::vector<int> from{1, 2, 3, 4}, to(4);
  std::vector<void*> sources, destinations;
  std::vector<size_t> sizes(4, sizeof(int)), firsts{0, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    sources.push_back(&from[i]);
    destinations.push_back(&to[3 - i]);
  }
  std::vector<cudaMemcpyAttributes> attributes(2);
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t failed = 0;
  const auto copy = [&](cudaStream_t stream) {
    return cudaMemcpyBatchAsync(destinations.data(), sources.data(), sizes.data(), 4, attributes.data(),
                                firsts.data(), 2, &failed, stream);
  };
  EXPECT_EQ(copy(stream_), cudaSuccess);
  from[0] = from[1] = 9;  // read during the call
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(to, (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(failed, SIZE_MAX);
  EXPECT_EQ(copy(nullptr), cudaErrorInvalidValue);
  sources[2] = nullptr;
  EXPECT_EQ(copy(stream_), cudaErrorInvalidValue);
  EXPECT_EQ(failed, 2u);
  sources[2] = &from[2];
  firsts[0] = 1;
  EXPECT_EQ(copy(stream_), cudaErrorInvalidValue) << "the first copies have no attributes";
}

}  // namespace
