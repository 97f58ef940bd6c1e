#include "support/namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/error.h"

namespace xylem {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

[[noreturn]] void execute(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

template <typename Body>
pid_t forkInto(const std::vector<int>& namespaces, Body body) {
  const pid_t child = fork();
  if (child < 0) throw Error(ResultCode::kSystemError, "cannot fork: {}", errnoText(errno));
  if (child > 0) return child;
  for (const int fd : namespaces)
    if (fd >= 0 && setns(fd, 0) != 0) _exit(126);
  int status = 125;
  try {
    status = body();
  } catch (const std::exception& error) {
    fprintf(stderr, "on a host of its own: %s\n", error.what());
  }
  fflush(nullptr);
  _exit(status);
}

// Runs one command of `ip`.
void ip(const std::vector<int>& namespaces, const std::string& line) {
  const pid_t child = forkInto(namespaces, [&]() -> int { execute(words("ip " + line)); });
  if (const int status = waitFor(child); status != 0)
    throw Error(ResultCode::kSystemError, "`ip {}` failed with status {}", line, status);
}

// In the namespace of the switch: the interface names of the bridge for a cable of all hosts, and of one
// host's end there.
std::string bridge(int cable) { return "joint" + std::to_string(cable); }
std::string port(int host, int cable) { return "up" + std::to_string(host) + '.' + std::to_string(cable); }

void writeTo(const char* file, const std::string& text) { std::ofstream(file) << text; }

// Makes a new network namespace and, if `user` is not null, a user namespace, in a child that ends at once:
// the descriptors keep them alive.
FileDescriptor newNamespace(const std::vector<int>& within, FileDescriptor* user) {
  int ready[2], done[2];
  if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0)
    throw Error(ResultCode::kSystemError, "cannot make a pipe: {}", errnoText(errno));
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  FileDescriptor readyRead(ready[0]), readyWrite(ready[1]), doneRead(done[0]), doneWrite(done[1]);
  const pid_t child = forkInto(within, [&]() -> int {
    close(doneWrite.get());
    if (unshare(CLONE_NEWNET | (user != nullptr ? CLONE_NEWUSER : 0)) != 0) return 1;
    if (user != nullptr) {
      writeTo("/proc/self/setgroups", "deny");
      writeTo("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
      writeTo("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
    }
    char byte = 0;
    if (write(readyWrite.get(), &byte, 1) != 1) return 1;
    return read(doneRead.get(), &byte, 1) == 0 ? 0 : 1;  // until the parent has opened them
  });
  readyWrite.reset();
  char byte;
  const bool made = read(readyRead.get(), &byte, 1) == 1;
  const std::string folder = "/proc/" + std::to_string(child) + "/ns/";
  FileDescriptor net;
  if (made) {
    net = FileDescriptor(open((folder + "net").c_str(), O_RDONLY | O_CLOEXEC));
    if (user != nullptr) *user = FileDescriptor(open((folder + "user").c_str(), O_RDONLY | O_CLOEXEC));
  }
  doneWrite.reset();
  waitFor(child);
  if (!net || (user != nullptr && !*user))
    throw Error(ResultCode::kSystemError, "the kernel does not let us make network namespaces");
  return net;
}

}  // namespace

int waitFor(pid_t child, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(child, SIGKILL);
    const timespec pause{0, 1000000};
    nanosleep(&pause, nullptr);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Namespaces::unavailable() {
  try {
    const Namespaces probe(1);
    return "";
  } catch (const Error& error) {
    return std::string("needs network namespaces: ") + error.what();
  }
}

Namespaces::Namespaces(int hosts, int cables) {
  const bool root = geteuid() == 0;
  switch_ = newNamespace({}, root ? nullptr : &user_);
  const std::vector<int> inSwitch{user_.get(), switch_.get()};
  for (int cable = 0; cable < cables; ++cable) {
    // With snooping, the bridge may hold back packets that IPv6 needs to find neighbours.
    ip(inSwitch, "link add " + bridge(cable) + " type bridge mcast_snooping 0");
    ip(inSwitch, "link set " + bridge(cable) + " up");
  }
  for (int host = 0; host < hosts; ++host) {
    hosts_.push_back(newNamespace({user_.get()}, nullptr));
    ip({user_.get(), hosts_.back().get()}, "link set lo up");
    for (int cable = 0; cable < cables; ++cable) lay(host, cable);
  }
  for (int host = 0; host < hosts; ++host)
    for (int cable = 0; cable < cables; ++cable) awaitCarrier(host, cable);
}

// From the host to the bridge of this cable.
void Namespaces::lay(int host, int cable) const {
  const int own = hosts_.at(static_cast<std::size_t>(host)).get();
  const std::vector<int> inSwitch{user_.get(), switch_.get()}, inHost{user_.get(), own};
  // A descriptor that `ip` inherits, which names the namespace.
  const FileDescriptor inherited(dup(own));
  ip(inSwitch, "link add " + port(host, cable) + " type veth peer name " + interface(cable) +
                   " netns /proc/self/fd/" + std::to_string(inherited.get()));
  ip(inSwitch, "link set " + port(host, cable) + " master " + bridge(cable) + " up");
  ip(inHost, "link set " + interface(cable) + " up");
  ip(inHost, "address add " + address(host, cable) + "/24 dev " + interface(cable));
  ip(inHost, "address add " + address6(host, cable) + "/64 dev " + interface(cable) + " nodad");
}

// The kernel notices up to a second later, or more on a loaded machine, that a cable has a link. Packets that
// were sent before are lost, and TCP takes seconds to try again.
void Namespaces::awaitCarrier(int host, int cable) const {
  const int status = run(host, [cable] {
    const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    interface(cable).copy(request.ifr_name, sizeof request.ifr_name - 1);
    for (int attempt = 0; attempt < 3000; ++attempt) {
      if (ioctl(any.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING) != 0) return 0;
      const timespec pause{0, 10000000};
      nanosleep(&pause, nullptr);
    }
    return 1;
  });
  if (status != 0)
    throw Error(ResultCode::kSystemError, "{} of host {} does not come up", interface(cable), host);
}

pid_t Namespaces::start(int host, const std::function<int()>& body) const {
  return forkInto(std::vector<int>{user_.get(), hosts_.at(static_cast<std::size_t>(host)).get()}, body);
}

pid_t Namespaces::startProgram(int host, const std::vector<std::string>& arguments) const {
  return start(host, [&]() -> int { execute(arguments); });
}

void Namespaces::enter(int host) const {
  for (const int fd : {user_.get(), hosts_.at(static_cast<std::size_t>(host)).get()})
    if (fd >= 0 && setns(fd, 0) != 0)
      throw Error(ResultCode::kSystemError, "cannot enter host {}: {}", host, errnoText(errno));
}

int Namespaces::run(int host, const std::function<int()>& body) const { return waitFor(start(host, body)); }

void Namespaces::setLink(int host, int cable, const std::string& state) const {
  ip({user_.get(), switch_.get()}, "link set " + port(host, cable) + " " + state);
}

}  // namespace xylem
