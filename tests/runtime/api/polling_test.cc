// Polling in place of waiting.

#include <atomic>

#include "several.h"

namespace {

class Polling : public Several {
 protected:
  void SetUp() override {
    setenv("XYLEM_OPERATION_TIMEOUT", "30", 1);  // a rank that waits in vain fails
    Several::SetUp();
    values_.resize(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) values_[rank].assign(kCount, static_cast<float>(rank + 1));
  }
  void TearDown() override {
    Several::TearDown();
    unsetenv("XYLEM_OPERATION_TIMEOUT");
  }
  void allReduce() {
    together([&](int rank) {
      float* data = values_[rank].data();
      return ncclAllReduce(data, data, kCount, ncclFloat, ncclSum, comms_[rank], streams_[rank]);
    });
  }
  void expectSums() const {
    for (const std::vector<float>& values : values_)
      for (const float value : values) ASSERT_EQ(value, 6.0f);
  }

  static constexpr std::size_t kCount = 100'000;
  std::vector<std::vector<float>> values_;
};

TEST_F(Polling, AProgramMayPollAStreamRatherThanWait) {
  allReduce();
  for (const cudaStream_t stream : streams_)
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    }
  expectSums();
}

TEST_F(Polling, AProgramMayPollAnEventRatherThanWait) {
  allReduce();
  for (const cudaStream_t stream : streams_) {
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    while (cudaEventQuery(event) == cudaErrorNotReady) {
    }
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  }
  expectSums();
}

TEST_F(Polling, AProgramMayWaitForTheFlagOfAHostFunction) {
  allReduce();
  std::atomic<int> reached{0};
  for (const cudaStream_t stream : streams_)
    ASSERT_EQ(cudaLaunchHostFunc(
                  stream, [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &reached),
              cudaSuccess);
  while (reached.load() < kRanks) {
  }
  expectSums();
  wait();
}

}  // namespace
