#pragma once
// Threads that call functions of the program: such a function may take long, or wait for something that the
// thread that runs a stream does only later.
//
//   callElsewhere([=] { function(argument); });

#include <functional>

namespace xylem {

// Calls it on a thread that does nothing else, which is started if all others are taken.
void callElsewhere(std::function<void()> call);

}  // namespace xylem
