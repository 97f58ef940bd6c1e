#pragma once
// The method by which all processes of a launched job get the same unique id. Each process chooses it from
// what the launcher told all of them, so all choose the same.
//
//   const RendezvousMethod method = rendezvousMethod(process, getenv);
//   if (method.kind == RendezvousMethod::kAddress) setenv("NCCL_COMM_ID", method.name.c_str(), 1);

#include <string>

#include "runtime/launch/launched_process.h"

namespace xylem::launch {

struct RendezvousMethod {
  enum Kind {
    kAlone,    // the job has one process
    kGiven,    // NCCL_COMM_ID is set
    kPmi,      // the launcher's store, over the socket PMI_FD
    kPmix,     // the launcher's store, through its library
    kLocal,    // all processes are on this host and know a name of their job
    kAddress,  // NCCL_COMM_ID can be set to an address that all processes know
    kNone,     // there is no method
  };
  Kind kind = kNone;
  std::string name;  // kLocal: of the job; kAddress: host:port
  // kAddress: true if this process listens at the address. That is not always process 0, which may be on
  // another host.
  bool listens = false;
};

RendezvousMethod rendezvousMethod(const LaunchedProcess& process, const Environment& environment);

}  // namespace xylem::launch
