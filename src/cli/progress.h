#pragma once
// A line on standard error that names the work under way, for work of more than a second. It only appears if
// standard error is a terminal.
//
//   {
//     Progress progress("planning dgxh100.xml for 2 hosts");   // after a second: "planning … 3 s"
//     plan = planJob(request, settings);
//   }                                                          // wipes the line

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

  // Changes the name of the work.
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
