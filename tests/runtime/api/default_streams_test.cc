// The default streams in calls on communicators of several devices.

#include "several.h"

namespace {

class DefaultStreams : public Several {
 protected:
  void SetUp() override {
    setenv("XYLEM_OPERATION_TIMEOUT", "30", 1);  // a rank that waits in vain fails
    Several::SetUp();
    values_.assign(kRanks, std::vector<float>(kCount));
    for (int rank = 0; rank < kRanks; ++rank) values_[rank].assign(kCount, static_cast<float>(rank + 1));
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  }
  void TearDown() override {
    Several::TearDown();
    unsetenv("XYLEM_OPERATION_TIMEOUT");
  }
  // An AllReduce on every rank in a group, without a change of the current device.
  void allReduce(cudaStream_t stream) {
    together([&](int rank) {
      float* data = values_[rank].data();
      return ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, comms_[rank], stream);
    });
  }
  void expectSums() const {
    for (const std::vector<float>& values : values_)
      for (const float value : values) ASSERT_EQ(value, 6.0f);
  }

  static constexpr std::size_t kCount = 100'000;
  std::vector<std::vector<float>> values_;
};

TEST_F(DefaultStreams, NullIsTheDefaultStreamOfTheCommunicatorsDevice) {
  allReduce(nullptr);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  expectSums();
}

TEST_F(DefaultStreams, TheStreamOfTheThreadIsThatOfTheCommunicatorsDevice) {
  allReduce(cudaStreamPerThread);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  }
  expectSums();
}

TEST_F(DefaultStreams, OthersStayThoseOfTheCurrentDevice) {
  int device = -1;
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaStreamGetDevice(nullptr, &device), cudaSuccess);
    EXPECT_EQ(device, rank);
  }
}

}  // namespace
