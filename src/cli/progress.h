#pragma once
// A line on standard error that says what takes so long, for work of more than a second; none where standard
// error is not a terminal.
//
//   {
//     Progress progress("planning dgxh100.xml for 2 hosts");   // after a second: "planning … 3 s"
//     plan = planJob(request, settings);
//   }                                                          // the line is wiped

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace xylem::cli {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // It is something else from now on.
  void say(std::string what);

 private:
  void show();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace xylem::cli
