#include "support/named_hosts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace xylem {
namespace {

// Exit status of a keeper process that could not set up its host.
int becomeHost(const std::string& name, const std::string& table) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (unshare(CLONE_NEWUTS | CLONE_NEWNS) != 0) return 1;
  // Mounts made here stay in this namespace.
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 1;
  if (mount(table.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) return 1;
  return sethostname(name.c_str(), name.size()) == 0 ? 0 : 1;
}

}  // namespace

std::string NamedHosts::unavailable() {
  if (const std::string why = Namespaces::unavailable(); !why.empty()) return why;
  try {
    const NamedHosts probe({"probe"});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

NamedHosts::NamedHosts(const std::vector<std::string>& names) : networks_(static_cast<int>(names.size())) {
  std::string all = "127.0.0.1 localhost\n";
  for (int host = 0; host < networks_.size(); ++host)
    all += Namespaces::address(host) + ' ' + names[static_cast<std::size_t>(host)] + '\n';
  for (const std::string& name : names)
    std::ofstream(folder_ / ("hosts." + name)) << "127.0.1.1 " << name << '\n' << all;
  for (int host = 0; host < networks_.size(); ++host)
    keepers_.push_back(keeperOf(host, names[static_cast<std::size_t>(host)]));
  writeAgent(names);
}

ChildProcess NamedHosts::keeperOf(int host, const std::string& name) const {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ResultCode::kSystemError, "cannot make a pipe: {}", errnoText(errno));
  const FileDescriptor readEnd(ends[0]);
  FileDescriptor writeEnd(ends[1]);
  ChildProcess keeper(networks_.start(host, [&]() -> int {
    const char status = static_cast<char>(becomeHost(name, folder_ / ("hosts." + name)));
    if (write(writeEnd.get(), &status, 1) != 1 || status != 0) return 1;
    for (;;) pause();
  }));
  writeEnd.reset();
  char status = 1;
  if (read(readEnd.get(), &status, 1) != 1 || status != 0)
    throw Error(ResultCode::kSystemError,
                "needs namespaces of host names and mounts, which the kernel does not let us make");
  return keeper;
}

std::string NamedHosts::on(int host) const {
  // Without root the hosts are in a user namespace, too.
  return std::string("nsenter ") + (geteuid() == 0 ? "" : "--user --preserve-credentials ") +
         "--net --uts --mount --target " + std::to_string(keepers_.at(static_cast<std::size_t>(host)).pid()) +
         " -- ";
}

void NamedHosts::writeAgent(const std::vector<std::string>& names) const {
  {
    std::ofstream script(agent());
    script << "#!/bin/sh\n"
              "while [ \"${1#-}\" != \"$1\" ]; do shift; done  # options of ssh\n"
              "case $1 in\n";
    for (std::size_t host = 0; host < names.size(); ++host)
      script << names[host] << ") keeper=" << keepers_[host].pid() << " ;;\n";
    script << "*) echo \"there is no host $1\" >&2; exit 255 ;;\n"
              "esac\n"
              "shift\n"
              "exec env -i PATH=\"$PATH\" HOME=\"$HOME\" XDG_CACHE_HOME=\"$XDG_CACHE_HOME\" "
              "nsenter --net --uts --mount --target $keeper -- sh -c \"$*\"\n";
  }
  std::filesystem::permissions(agent(), std::filesystem::perms::owner_all);
}

}  // namespace xylem
