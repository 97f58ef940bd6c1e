// The order in which work of several streams is done: with events, with the default streams, and in random
// mixtures of all, compared with the rules.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "host/cuda_runtime.h"

namespace {

// A host function that holds its stream until it is released.
struct OrderGate {
  static void wait(void* self) {
    while (!static_cast<OrderGate*>(self)->open.load()) std::this_thread::yield();
  }
  std::atomic<bool> open{false};
};

// The order in which work was done: each piece gets the next number.
struct Clock {
  std::atomic<int> now{0};
};
struct Stamp {
  static void take(void* self) {
    auto* stamp = static_cast<Stamp*>(self);
    stamp->when = stamp->clock->now.fetch_add(1);
  }
  Clock* clock = nullptr;
  std::atomic<int> when{-1};
};

cudaStream_t makeStream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
  return stream;
}

// The order of work that the rules require, computed beside the calls.
class RandomWork {
 public:
  explicit RandomWork(unsigned seed) : random_(seed) {
    for (int i = 0; i < kStreams; ++i) streams_.push_back(makeStream(i % 2 == 0 ? cudaStreamNonBlocking : 0));
    streams_.push_back(nullptr);
    behind_.resize(streams_.size());
    for (int i = 0; i < kEvents; ++i) {
      cudaEvent_t event = nullptr;
      EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
      events_.push_back(event);
    }
    eventBehind_.resize(kEvents);
  }
  ~RandomWork() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    for (cudaStream_t stream : streams_)
      if (stream != nullptr) cudaStreamDestroy(stream);
  }

  void enqueue(int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t stream = random_() % streams_.size(), event = random_() % kEvents;
      orderByDefault(stream);
      switch (random_() % 4) {
        case 0:
          EXPECT_EQ(cudaEventRecord(events_[event], streams_[stream]), cudaSuccess);
          eventBehind_[event] = behind_[stream];
          break;
        case 1:
          EXPECT_EQ(cudaStreamWaitEvent(streams_[stream], events_[event], 0), cudaSuccess);
          merge(behind_[stream], eventBehind_[event]);
          break;
        default:
          stamps_.push_back(std::make_unique<Stamp>());
          stamps_.back()->clock = &clock_;
          before_.push_back(behind_[stream]);
          EXPECT_EQ(cudaLaunchHostFunc(streams_[stream], Stamp::take, stamps_.back().get()), cudaSuccess);
          behind_[stream].push_back(stamps_.size() - 1);
      }
    }
  }

  void check() {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (std::size_t i = 0; i < stamps_.size(); ++i) {
      ASSERT_GE(stamps_[i]->when.load(), 0) << "work " << i << " was not done";
      for (const std::size_t earlier : before_[i])
        ASSERT_LT(stamps_[earlier]->when.load(), stamps_[i]->when.load()) << earlier << " before " << i;
    }
  }

 private:
  static constexpr int kStreams = 4, kEvents = 4;
  using Set = std::vector<std::size_t>;  // of stamps, with repetitions

  static void merge(Set& into, const Set& more) { into.insert(into.end(), more.begin(), more.end()); }
  // The last stream is the default one, the odd ones wait for it and it for them.
  void orderByDefault(std::size_t stream) {
    if (stream == kStreams) {
      for (std::size_t other = 1; other < kStreams; other += 2) merge(behind_[stream], behind_[other]);
    } else if (stream % 2 == 1) {
      merge(behind_[stream], behind_[kStreams]);
    }
    Set& set = behind_[stream];
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }

  std::mt19937 random_;
  Clock clock_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  std::vector<Set> behind_, eventBehind_;
  std::vector<std::unique_ptr<Stamp>> stamps_;
  std::vector<Set> before_;
};

TEST(CudaOrder, RandomWorkIsDoneInAnOrderThatTheRulesAllow) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    RandomWork work(seed);
    work.enqueue(40);
    work.check();
  }
}

TEST(CudaOrder, TheDefaultStreamAndBlockingOnesWaitForEachOther) {
  cudaStream_t blocking = makeStream(cudaStreamDefault), free = makeStream();
  OrderGate gate;
  int a = 1, b = 0, c = 0;
  ASSERT_EQ(cudaLaunchHostFunc(blocking, OrderGate::wait, &gate), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&b, &a, sizeof a, cudaMemcpyDefault, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&c, &a, sizeof a, cudaMemcpyDefault, free), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(free), cudaSuccess) << "waits for nobody";
  EXPECT_EQ(c, 1);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  gate.open = true;
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(b, 1);

  OrderGate second;
  ASSERT_EQ(cudaLaunchHostFunc(nullptr, OrderGate::wait, &second), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(&b, 0, sizeof b, blocking), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(blocking), cudaErrorNotReady);
  second.open = true;
  EXPECT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  EXPECT_EQ(b, 0);
  EXPECT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(free), cudaSuccess);
}

TEST(CudaOrder, TheDefaultStreamWaitsForWhatADestroyedOneLeft) {
  cudaStream_t blocking = makeStream(cudaStreamDefault);
  OrderGate gate;
  int a = 1, b = 0;
  ASSERT_EQ(cudaLaunchHostFunc(blocking, OrderGate::wait, &gate), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(&b, &a, sizeof a, cudaMemcpyDefault, blocking), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(blocking), cudaSuccess) << "returns at once";
  ASSERT_EQ(cudaMemsetAsync(&a, 0, sizeof a, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  gate.open = true;
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(b, 1);
  EXPECT_EQ(a, 0);
}

TEST(CudaOrder, EveryThreadHasADefaultStreamOfItsOwn) {
  OrderGate gate;
  ASSERT_EQ(cudaLaunchHostFunc(cudaStreamPerThread, OrderGate::wait, &gate), cudaSuccess);
  std::thread([&] {
    int from = 3, to = 0;
    EXPECT_EQ(cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyDefault, cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(to, 3);
  }).join();
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  gate.open = true;
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
}

// A thread that waits for one stream never gets stuck in a function that stands in another.
TEST(CudaOrder, AFunctionThatBlocksHoldsUpNoOtherStream) {
  cudaStream_t held = makeStream(), other = makeStream();
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  OrderGate gates[3];
  for (OrderGate& gate : gates) ASSERT_EQ(cudaLaunchHostFunc(held, OrderGate::wait, &gate), cudaSuccess);
  for (int i = 0; i < 200; ++i) {
    int from = i, to = -1;
    ASSERT_EQ(cudaMemcpyAsync(&to, &from, sizeof to, cudaMemcpyDefault, other), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, other), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
    ASSERT_EQ(to, i);
  }
  for (OrderGate& gate : gates) gate.open = true;
  EXPECT_EQ(cudaStreamSynchronize(held), cudaSuccess);
  cudaStreamDestroy(held);
  cudaStreamDestroy(other);
  cudaEventDestroy(event);
}

TEST(CudaOrder, StreamsTellWhatTheyAre) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -99), cudaSuccess);
  int least = 0, greatest = 0, priority = 1, device = -1;
  unsigned flags = 99;
  unsigned long long id = 0, defaultId = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest) << "brought into the range";
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  EXPECT_EQ(cudaStreamGetDevice(stream, &device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaStreamGetId(stream, &id), cudaSuccess);
  EXPECT_EQ(cudaStreamGetId(nullptr, &defaultId), cudaSuccess);
  EXPECT_NE(id, defaultId);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CudaOrder, ACallbackGetsItsStream) {
  cudaStream_t stream = makeStream();
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } seen;
  const auto callback = [](cudaStream_t its, cudaError_t status, void* data) {
    *static_cast<Seen*>(data) = {its, status};
  };
  ASSERT_EQ(cudaStreamAddCallback(stream, callback, &seen, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(seen.status, cudaSuccess);
  EXPECT_EQ(cudaStreamAddCallback(stream, nullptr, &seen, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamAddCallback(stream, callback, &seen, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
