#pragma once
// One input of the fuzzer of queues that a proxy thread carries for another rank: that rank writes anything into the memory that both
// share. The proxy thread must send from the queue's slots only, and give the queue up if it cannot be one.
//
//   feedCarriedQueue(bytes);   // true if it was not given up

#include <fcntl.h>

#include <deque>
#include <memory>

#include "fuzz/input.h"
#include "fuzz/require.h"
#include "runtime/transport/net/pxn/carried_queue.h"

namespace xylem {

// A link that reads all bytes of a message, which is sent some looks later.
class ReadingSender final : public transport::NetSender {
 public:
  transport::NetRequest* isend(const std::byte* data, std::size_t bytes, std::uint32_t,
                               transport::NetMemory*) override {
    if (underway_.size() == 4) return nullptr;
    for (std::size_t i = 0; i < bytes; ++i) sum_ += static_cast<unsigned>(data[i]);
    return &underway_.emplace_back();
  }
  bool test(transport::NetRequest* request, std::size_t*) override {
    require(!underway_.empty() && request == &underway_.front());
    if (++looks_ % 2 == 0) return false;
    underway_.pop_front();
    return true;
  }

 private:
  std::deque<transport::NetRequest> underway_;
  unsigned sum_ = 0, looks_ = 0;
};

class ReadingNetwork final : public transport::Network {
  struct Connector final : transport::NetConnector {
    std::unique_ptr<transport::NetSender> advance() override { return std::make_unique<ReadingSender>(); }
  };

 public:
  std::string_view name() const override { return "Reading"; }
  int deviceCount() const override { return 1; }
  transport::NetProperties properties(int) const override { return {}; }
  std::unique_ptr<transport::NetListener> listen(int) override { return nullptr; }
  std::unique_ptr<transport::NetConnector> call(int, const transport::NetHandle&) override {
    return std::make_unique<Connector>();
  }
};

struct SleepingEngine final : transport::Engine {
  void add(transport::DrivenPump&) override {}
  void remove(transport::DrivenPump&) noexcept override {}
  void wake() noexcept override {}
  int bell() const override { return -1; }
  void observe(transport::EngineObserver*) override {}
};

inline bool feedCarriedQueue(std::string_view bytes) {
  Input input(bytes);
  ReadingNetwork network;
  SleepingEngine engine;
  const transport::StepBytes steps = transport::stepBytesFor(1024);
  const transport::CarriedQueue::Context context{steps, &network, &engine, nullptr};
  transport::ProxiedMemory ranks(steps);
  const transport::QueueMemory queue = ranks.queue();
  transport::CarriedQueue carried(
      transport::ProxiedMemory(FileDescriptor(fcntl(ranks.fd(), F_DUPFD_CLOEXEC, 0)), steps), {}, context,
      {});
  std::vector<pollfd> fds;
  while (!input.empty() && !carried.over()) {
    const auto what = input.take<std::uint8_t>();
    switch (what % 4) {
      case 0: {  // a step as it should be
        const std::uint64_t tail = queue.control->tail.load();
        queue.control->notes[tail % transport::kQueueSteps] = {
            .region = 0, .bytes = input.take<std::uint8_t>() % 129u, .address = 0};
        queue.control->tail.store(tail + 1);
        break;
      }
      case 1: {  // anything, anywhere
        const std::size_t at = input.take<std::uint16_t>() % sizeof(transport::QueueControl);
        const auto piece = input.piece(
            std::min<std::size_t>(input.take<std::uint8_t>(), sizeof(transport::QueueControl) - at));
        if (!piece.empty())
          std::memcpy(reinterpret_cast<std::byte*>(queue.control) + at, piece.data(), piece.size());
        break;
      }
      case 2:
        ranks.state().over.store(what >> 7);
        ranks.state().answer.store(what >> 2);
        break;
      default:
        carried.drive(fds);
    }
  }
  for (int i = 0; i < 20; ++i) carried.drive(fds);
  return ranks.state().state.load() == transport::ProxiedQueueState::kConnected;
}

}  // namespace xylem
