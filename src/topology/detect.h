#pragma once
// This machine as a topology document: CPUs and NUMA nodes through hwloc, the PCI tree and network interfaces
// from sysfs, and host devices to compute on.
//
//   Document doc = detectTopology({.hostDevices = 8});     // at least eight gpu elements with host="1"
//   Document doc = detectTopology({.root = "captured"});   // a copy of another machine's /sys and /proc
//
// A *host device* is a gpu element of ours: compute on CPU cores whose memory is its NUMA node's. It is
// marked host="1", hangs below a made-up PCI bus id on its NUMA node and is tied to that node's memory by a
// c2c link, so that the same engine plans for it. P2P between host devices of one host is always possible
// (paths/reach.h).
//
// Detection only reads, needs no privileges, and takes what it cannot read as absent: a container without a
// PCI bus still gives its CPUs, its interfaces and its host devices.

#include <filesystem>
#include <string>

#include "topology/document.h"

namespace xylem {

// As many as XYLEM_HOST_DEVICES admits.
constexpr int kMaxHostDevices = 4096;

struct DetectOptions {
  // How many host devices to describe: max(this, one per core). XYLEM_HOST_DEVICES or the local ranks decide.
  int hostDevices = 0;
  // NCCL_HOSTID: what identifies this host in place of its name and boot id.
  std::string hostId;
  // NCCL_SOCKET_IFNAME: which interfaces to describe, in place of the default choice.
  std::string interfaces;
  // Where /sys and /proc are found; another folder replays a captured machine.
  std::filesystem::path root = "/";
};

// Throws Error if the machine cannot be read at all.
Document detectTopology(const DetectOptions& options = {});

}  // namespace xylem
