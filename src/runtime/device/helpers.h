#pragma once
// Helper threads of a device: they share one piece of work with the thread that has it.
//
//   const std::shared_ptr<Helpers> helpers = Helpers::of(device, 3);
//   helpers->share(16, [&](std::size_t part) { copy(part); });    // calls it with 0 to 15, and returns when all are done
//
// Each thread takes one part after the other, the thread that shares its work as well. A helper that comes late, or not at all,
// delays no part that others can take. Helpers start with the first work. Without work for some tens of microseconds they sleep.
// They run on the cores that the thread which made them had then: a program may bind its threads later, and then one core would be
// left for all of them. If the thread with the first work is bound to one NUMA node by then, they run there, where that has enough cores.

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "runtime/device/host_device.h"

namespace xylem::device {

class Helpers {
 public:
  // Returns the helpers of a device of this process, which all its communicators share. If it has none now, it gets `threads`. A
  // forked child gets helpers of its own.
  static std::shared_ptr<Helpers> of(int device, int threads);

  explicit Helpers(int threads);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  int threads() const { return wanted_; }

  // Calls `part` with 0 to parts - 1, each once, in any order, some of them at the same time, and returns after the last one. Then
  // throws the first exception that a call threw. If another thread shares work just now, this one does all by itself; in a forked
  // child every thread does. Waking helpers that sleep takes tens of microseconds.
  template <typename Part>
  void share(std::size_t parts, Part&& part) {
    const Call call = [](void* context, std::size_t index) {
      (*static_cast<std::remove_reference_t<Part>*>(context))(index);
    };
    run(parts, {call, const_cast<void*>(static_cast<const void*>(&part))});
  }

 private:
  using Call = void (*)(void* context, std::size_t index);
  struct Work {
    Call call = nullptr;
    void* context = nullptr;
  };

  void run(std::size_t parts, const Work& work);
  std::optional<std::size_t> take();
  bool hasWork() const;
  void perform(std::size_t index);
  void start();
  void wake();
  void loop();

  const int wanted_;
  const CoreSet allowed_;             // cores
  const std::vector<CoreSet> nodes_;  // of the machine
  const pid_t process_;               // of the threads
  std::mutex mutex_;                  // held by the thread that shares its work
  // No std::thread: a forked child can neither join nor detach these, as its own threads may have the same handles.
  std::vector<pthread_t> threads_;
  bool refused_ = false;  // the system gave fewer threads
  Work work_;             // constant while parts of it are under way
  // The number of the work, its parts, and the next one of them: taking a part is one exchange of this word, and fails if the work
  // has changed.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::size_t> done_{0};  // parts
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // of the part that set failed_
  std::atomic<int> asleep_{0};  // helpers
  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace xylem::device
