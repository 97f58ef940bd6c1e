#pragma once
// By which way the processes of a launched job come by one id. All of them choose alike, from what the
// launcher told all.
//
//   const MeetingWay way = meetingWay(process, getenv);
//   if (way.kind == MeetingWay::kAddress) setenv("NCCL_COMM_ID", way.name.c_str(), 1);

#include <string>

#include "runtime/launch/launched_process.h"

namespace xylem {

struct MeetingWay {
  enum Kind {
    kAlone,    // one process: nobody to meet
    kGiven,    // NCCL_COMM_ID says where
    kPmi,      // the launcher's store, over the socket PMI_FD
    kPmix,     // the launcher's store, through its library
    kLocal,    // all are on this host, and know the name of their job
    kAddress,  // at an address that follows from what all know
    kNone,
  };
  Kind kind = kNone;
  std::string name;  // kLocal: of the job; kAddress: host:port
  // kAddress: this process listens there; not always process 0, as the address may be another host's.
  bool listens = false;
};

MeetingWay meetingWay(const LaunchedProcess& process, const Environment& environment);

}  // namespace xylem
