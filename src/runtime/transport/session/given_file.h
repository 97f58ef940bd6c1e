#pragma once
// Files of this process for other processes of the host and the user, which know their names. A thread of the process answers those that
// ask; it exists while there are such files. It opens a file when a process asks for it, and closes it once it has sent it: a job may have
// hundreds of them, and programs are allowed 1024 descriptors by default.
//
//   const GivenFile given([&] { return FileDescriptor(open(path, O_RDWR | O_CLOEXEC)); });
//   share(given.name());
//   FileDescriptor same = takeFile(name, Deadline::after(10s));       // in another process

#include <cstdint>
#include <functional>
#include <memory>

#include "core/deadline.h"
#include "core/file_descriptor.h"
#include "runtime/transport/peer.h"

namespace xylem::transport {

struct FileName {
  LocalName socket{};  // of the process; random, so a process that knows it got it from a rank of the job
  std::uint64_t number = 0;
};

class GivenFile {
 public:
  // The thread that answers calls it, for one process after the other. If it throws, or the descriptor is invalid, the thread answers that
  // there is no such file. It must neither make nor destroy a GivenFile.
  using Open = std::function<FileDescriptor()>;
  // Throws Error (ncclSystemError) if the process cannot listen, or gets no thread.
  explicit GivenFile(Open open);
  // Waits until a call of the function is over. None comes later.
  ~GivenFile();
  GivenFile(const GivenFile&) = delete;
  GivenFile& operator=(const GivenFile&) = delete;

  FileName name() const;

 private:
  class Giver;
  std::shared_ptr<Giver> giver_;
  std::uint64_t number_;
};

// Throws Error (ncclRemoteError, ncclSystemError) if the process is gone, gives no such file, or has not answered in time.
FileDescriptor takeFile(const FileName& name, const Deadline& deadline);

}  // namespace xylem::transport
