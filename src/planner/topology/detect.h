#pragma once
// This machine as a topology document, the way NCCL describes it: the PCI tree with its switches, NUMA nodes
// and CPUs, GPUs with their NVLinks, network cards. Without GPUs it gets host devices to compute on.
//
//   Document doc = detectTopology({.hostDevices = 8});   // at least eight gpu elements with host="1"
//   const auto source = gpuSourceOf("/");
//   Document doc = detectTopology({.gpus = source.get()});              // NVIDIA's GPUs, if there are any
//   Document doc = detectTopology({.root = "captured"});   // a copy of another machine's /sys and /proc
//
// With GPUs the document is what the ranks of a job on all of them detect and fuse (planner/topology/fuse.h): rank i
// on GPU i, and RDMA devices as network cards if there are any, else interfaces.
//
// A *host device* is a gpu element of ours: compute on CPU cores whose memory is its NUMA node's. It is
// marked host="1", hangs below a made-up PCI bus id on its NUMA node and is tied to that node's memory by a
// c2c link, so that the same engine plans for it. P2P between host devices of one host is always possible
// (planner/paths/reach.h).
//
// Detection only reads, needs no privileges, and takes what it cannot read as absent: a container without a
// PCI bus still gives its CPUs, its interfaces and its host devices.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/topology/detect_gpu_source.h"
#include "planner/topology/detect_net_device.h"
#include "planner/topology/detect_rdma.h"
#include "planner/topology/document.h"
#include "planner/topology/merge_nics.h"

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
  // Network devices to describe in place of those that are found here: a plugin's.
  std::optional<std::vector<NetDevice>> networks;
  // Where /sys and /proc are found; another folder replays a captured machine.
  std::filesystem::path root = "/";
  // The GPUs to describe. None given, or none found: host devices.
  const GpuSource* gpus = nullptr;
  // NCCL_TOPO_FILE: a description to complete. Empty: the one that a virtual machine's tools left, if any.
  std::string topologyFile;
  RdmaOptions rdma;
  // Network devices as a job uses them. Absent: as they are, which is what NCCL writes to a file.
  std::optional<MergeOptions> merge;
};

// Throws Error if the machine cannot be read at all, InputError for a malformed topology file. `remarks`
// takes what a person should know about the outcome.
Document detectTopology(const DetectOptions& options = {}, std::vector<std::string>* remarks = nullptr);

}  // namespace xylem
