#include "runtime/comm/join/coll_join.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace xylem {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};

// The thread's as well as the waiting rank's; whoever is last ends it.
struct Joining {
  CollMeeting meeting;
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::unique_ptr<CollLink> link;
  std::optional<Error> error;
};

void join(Joining& joining) {
  std::unique_ptr<CollLink> link;
  std::optional<Error> error;
  CollMeeting& meeting = joining.meeting;
  try {
    link = meeting.network->connect(meeting.handles, meeting.self, *meeting.listener);
  } catch (const Error& failed) {
    error = failed;
  } catch (const std::exception& failed) {
    error = Error(ResultCode::kSystemError, "{}", failed.what());
  }
  meeting.listener.reset();
  const std::lock_guard lock(joining.mutex);
  joining.link = std::move(link);
  joining.error = std::move(error);
  joining.over = true;
  joining.changed.notify_one();
}

void await(Joining& joining, const Waiting& waiting) {
  std::unique_lock lock(joining.mutex);
  while (!joining.changed.wait_for(lock, kLookEvery, [&] { return joining.over; })) {
    lock.unlock();
    if (waiting.look) waiting.look();
    if (waiting.deadline.passed())
      throw Error(ResultCode::kRemoteError, "timed out connecting to {}, which waits for the other hosts",
                  joining.meeting.network->name());
    lock.lock();
  }
}

}  // namespace

std::unique_ptr<CollLink> joinWithin(CollMeeting meeting, const Waiting& waiting) {
  auto joining = std::make_shared<Joining>();
  joining->meeting = std::move(meeting);
  std::thread thread([joining] { join(*joining); });
  try {
    await(*joining, waiting);
  } catch (...) {
    thread.detach();
    throw;
  }
  thread.join();
  if (joining->error) throw Error(*joining->error);
  return std::move(joining->link);
}

}  // namespace xylem
